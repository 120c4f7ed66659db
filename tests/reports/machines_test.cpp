// Machines side by side: figures in closed form, refusals, doubts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/analysis/files.h"
#include "reports/export/exporter.h"
#include "reports/export/layout.h"
#include "tests/reports/forged_machines.h"

namespace ulpscope::reports {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Machines : public ForgedMachines {};

std::string written(const Comparison& comparison, const char* form) {
  std::ostringstream out;
  make_exporter(form)->write(comparison, out);
  return out.str();
}

// Data sheets: A100 SXM 80GB 312 TFLOP/s in fp16, 2039 GB/s; H100 SXM 989.4 and 3350. Clocks as sampled.
TEST_F(Machines, TimesRawAndNormalised) {
  const Comparison all = compared({forged_a100(), forged_h100()});
  ASSERT_TRUE(all.machines);
  ASSERT_EQ(all.machines->machines.size(), 2u);
  EXPECT_EQ(all.machines->machines[0].gpu, "A100 SXM 80GB");
  EXPECT_EQ(all.machines->machines[1].gpu, "H100 SXM");
  const MachineFigures &a = mode(all, "fp16").at[0], &b = mode(all, "fp16").at[1];
  EXPECT_NEAR(*a.step.value, 10e-3, 1e-12);
  EXPECT_EQ(a.step.provenance, Provenance::measured);
  EXPECT_NEAR(*b.ratio.value, 0.5, 1e-12);
  EXPECT_EQ(b.ratio.provenance, Provenance::computed);
  EXPECT_NEAR(*b.tokens_per_second.value, 512 / 5e-3, 1e-6);
  EXPECT_NEAR(*b.peak.value, 989.4, 1.0);
  EXPECT_EQ(b.peak.from, "table");
  EXPECT_NEAR(*b.by_peak_ratio.value, 5.0 * 989.4 / (10.0 * 312.0), 2e-3);
  EXPECT_NEAR(*b.by_peak.value, 5e-3 * 989.4, 0.01);
  EXPECT_EQ(b.bandwidth.from, "table");
  EXPECT_NEAR(*b.by_bandwidth_ratio.value, 5.0 * 3350.0 / (10.0 * 2039.0), 1e-9);
  EXPECT_EQ(b.clock.from, "measured");
  EXPECT_NEAR(*b.by_clock_ratio.value, 5.0 * 1755.0 / (10.0 * 1410.0), 1e-9);
  // A measured time by a rate of a data sheet is no better than inferred; by a sampled clock it is computed.
  EXPECT_EQ(b.by_peak.provenance, Provenance::inferred);
  EXPECT_EQ(b.by_peak_ratio.provenance, Provenance::inferred);
  EXPECT_EQ(b.by_bandwidth.provenance, Provenance::inferred);
  EXPECT_EQ(b.by_clock.provenance, Provenance::computed);
  EXPECT_EQ(b.by_clock_ratio.provenance, Provenance::computed);
  EXPECT_EQ(b.runs, "native");
  EXPECT_NEAR(*b.busy.value, 0.9, 1e-3);
  EXPECT_EQ(b.no_ratio, "");
  EXPECT_EQ(b.peak_bytes.value, 8000.0);
  // fp32 has the peak of fp32: 19.5 and 67.
  EXPECT_NEAR(*mode(all, "fp32").at[1].by_peak_ratio.value, 8.0 * 66.9 / (20.0 * 19.5), 5e-3);
}

TEST_F(Machines, AProcessorHasNoYardstickAndEmulatedTimesNoRatio) {
  const Comparison all = compared({forged_a100(), forged_cpu()});
  const MachineFigures &fp32 = mode(all, "fp32").at[1], &fp16 = mode(all, "fp16").at[1];
  EXPECT_NEAR(*fp32.ratio.value, 20.0, 1e-9);  // both measured
  for (const Yardstick* y : {&fp32.peak, &fp32.bandwidth, &fp32.clock}) {
    EXPECT_FALSE(y->value) << "unknown, not 0";
    EXPECT_EQ(y->from, "unknown");
  }
  EXPECT_FALSE(fp32.by_peak_ratio.value);
  EXPECT_EQ(fp16.runs, "emulated");
  EXPECT_EQ(fp16.step.provenance, Provenance::emulated);
  EXPECT_FALSE(fp16.ratio.value);
  EXPECT_THAT(fp16.no_ratio, HasSubstr("emulated: no claim on speed"));
  // Named first, it leaves no ratio to anybody.
  const Comparison other = compared({forged_cpu(), forged_a100()});
  EXPECT_FALSE(mode(other, "fp16").at[1].ratio.value);
  EXPECT_NEAR(*mode(other, "fp32").at[1].ratio.value, 0.05, 1e-9);
}

TEST_F(Machines, AModeThatAGpuEmulatesDrawsNoClaimThere) {
  // fp16 is native on V100 and T4; P100 has no matrix units: its fp16 runs through fp32.
  ForgedMachine p100 = forged_h100();
  p100.device = "Tesla P100-SXM2-16GB";
  const Comparison all = compared({forged_a100(), p100});
  const MachineFigures& there = mode(all, "fp16").at[1];
  EXPECT_EQ(there.runs, "emulated");
  EXPECT_FALSE(there.ratio.value);
  EXPECT_FALSE(there.peak.value);
  EXPECT_TRUE(mode(all, "fp32").at[1].ratio.value);
}

TEST_F(Machines, AnIdleDeviceSaysThatHostsAreCompared) {
  ForgedMachine idle = forged_h100();
  idle.busy = 0.4;
  const Comparison all = compared({forged_a100(), idle});
  const MachineFigures& b = mode(all, "fp16").at[1];
  EXPECT_NEAR(*b.step.value, 5e-3, 1e-12) << "raw times are shown";
  EXPECT_FALSE(b.ratio.value);
  EXPECT_FALSE(b.by_peak_ratio.value);
  EXPECT_EQ(b.no_ratio, "hosts are compared: the GPU of B is busy for 40 % of the step");
  EXPECT_THAT(mode(all, "fp16").notes, Contains(b.no_ratio));
  for (const NodeAcross& node : mode(all, "fp16").nodes) EXPECT_FALSE(node.at[1].ratio.value);
  idle.busy = 0.52;
  EXPECT_TRUE(mode(compared({forged_a100(), idle}), "fp16").at[1].ratio.value);
  idle.busy = 0.0;  // not traced: stated, with the doubt
  const Comparison untraced = compared({forged_a100(), idle});
  EXPECT_TRUE(mode(untraced, "fp16").at[1].ratio.value);
  EXPECT_THAT(mode(untraced, "fp16").notes, Contains(HasSubstr("how busy the GPU of B was is not on record")));
}

TEST_F(Machines, ThrottledRunsAreMarked) {
  ForgedMachine hot = forged_h100();
  hot.throttle = 0x40;
  const Comparison all = compared({forged_a100(), hot});
  EXPECT_FALSE(mode(all, "fp16").at[0].throttled);
  EXPECT_TRUE(mode(all, "fp16").at[1].throttled);
  EXPECT_DOUBLE_EQ(*mode(all, "fp16").at[1].slowed.value, 0.5);
  EXPECT_THAT(mode(all, "fp16").notes, Contains("B was throttled: its clock was held down in 50 % of the samples: temperature (hardware) (2)"));
  EXPECT_THAT(written(all, "text"), HasSubstr("5 ms !"));
}

TEST_F(Machines, NodesByTime) {
  const Comparison all = compared({forged_a100(), forged_h100(), forged_cpu()});
  const MachineMode& fp16 = mode(all, "fp16");
  EXPECT_THAT(fp16.node_times, ElementsAre("kernels", "kernels", "node clock"));
  ASSERT_EQ(fp16.nodes.size(), 3u);
  EXPECT_EQ(fp16.nodes[0].name, "y");
  EXPECT_EQ(fp16.nodes[1].name, "unscale_check");
  EXPECT_EQ(fp16.nodes[2].name, "w.update");
  EXPECT_NEAR(*fp16.nodes[0].at[0].seconds.value, 6e-3, 1e-6);
  EXPECT_NEAR(*fp16.nodes[0].at[1].ratio.value, 0.5, 1e-3);
  EXPECT_NEAR(*fp16.nodes[0].at[2].seconds.value, 0.54, 1e-9);
  EXPECT_FALSE(fp16.nodes[0].at[2].ratio.value) << "emulated";
  EXPECT_FALSE(fp16.nodes[1].at[2].seconds.value) << "unknown, not 0";
}

TEST_F(Machines, TheLossIsPairedBySeed) {
  ForgedMachine b = forged_h100();
  b.loss = 2.25;
  EXPECT_NEAR(*mode(compared({forged_a100(), b}), "fp16").at[1].final_loss_difference.value, 0.25, 1e-9);
  b.seed = 7;
  EXPECT_FALSE(mode(compared({forged_a100(), b}), "fp16").at[1].final_loss_difference.value);
}

TEST_F(Machines, WhatIsNotAlikeIsRefusedWithTheReason) {
  const auto refused = [&](auto&& change) {
    ForgedMachine machine = forged_h100();
    change(machine);
    return reasons(compared({forged_a100(), machine}));
  };
  EXPECT_THAT(refused([](ForgedMachine& m) { m.batch = 16; }), ElementsAre("another batch: batch is 16, in A 8"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.context = 128; }), ElementsAre("another sequence: context is 128, in A 64"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.train = R"({"lr": 0.002, "policy": "torch_cuda", "keep_fp32": [], "fusion": true})"; }),
              ElementsAre("another configuration: train.lr is 0.002, in A 0.001"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.train = R"({"lr": 0.001, "policy": "torch_cpu", "keep_fp32": ["y"], "fusion": true})"; }),
              ElementsAre(R"(another precision policy: train.keep_fp32 is ["y"], in A []; train.policy is "torch_cpu", in A "torch_cuda")"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.train = R"({"lr": 0.001, "policy": "torch_cuda", "keep_fp32": [], "fusion": false})"; }),
              ElementsAre("another configuration: train.fusion is false, in A true"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.extra_node = "new"; }),
              ElementsAre("another plan of fp16: 8 nodes, in A 7; node 8 is relu new (forward): fp16 64×16 > fp16 64×16, in A not there"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.batch = 16, m.context = 1; }), ElementsAre(HasSubstr("another batch"), HasSubstr("another sequence")));
  EXPECT_THAT(refused([](ForgedMachine&) {}), ElementsAre("not one refusal"));
  EXPECT_THAT(refused([](ForgedMachine& m) { m.train = R"({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "fusion": true, "keep_fp32": [], "lr": 0.001, "policy": "torch_cuda", "z": 1})"; }),
              ElementsAre(HasSubstr("train.f is 1, in A not set; and 1 more")));
}

TEST_F(Machines, TheOthersAreStillCompared) {
  ForgedMachine bigger = forged_cpu();
  bigger.batch = 16;
  const Comparison all = compared({forged_a100(), forged_h100(), bigger});
  EXPECT_EQ(all.machines->machines.size(), 2u);
  EXPECT_EQ(text(all.machines->refused.at(0), "A"), "C (" + file_of(bigger).path() + ", Testium 9000 (cpu, 2 threads)) is not compared with A: another batch: batch is 16, in A 8");
  EXPECT_THAT(written(all, "text"), AllOf(HasSubstr("Refused: C ("), HasSubstr("another batch")));
  EXPECT_THAT(all.warnings, Not(Contains(HasSubstr("not alike"))));
}

TEST_F(Machines, WhatADeviceIsCalledDoesNotMatter) {
  // Another batch is refused on another device, on the same with other threads, and on the very same.
  for (const auto& [device, threads] : {std::pair("Testium 9001", 2), {"Testium 9000", 4}, {"Testium 9000", 2}}) {
    ForgedMachine bigger = forged_cpu();
    bigger.batch = 16;
    bigger.device = device;
    bigger.threads = threads;
    const Comparison all = compared({forged_cpu(), bigger});
    EXPECT_THAT(reasons(all), ElementsAre("another batch: batch is 16, in A 8")) << device << threads;
    EXPECT_THAT(all.warnings, Not(Contains(HasSubstr("not alike")))) << "said once";
  }
  ForgedMachine other = forged_cpu();
  other.threads = 4;
  EXPECT_EQ(compared({forged_cpu(), other}).machines->machines.size(), 2u) << "other threads, side by side";
}

TEST_F(Machines, ThePrecisionPolicyHasTheScalerWhereALossIsScaled) {
  const auto with = [](const char* train, bool scaled) {
    ForgedMachine m = forged_h100();
    m.train = train;
    m.scaled = scaled;
    return m;
  };
  const char *plain = R"({"lr": 0.001, "scaler": {"init": 65536.0}})", *lower = R"({"lr": 0.001, "scaler": {"init": 1024.0}})";
  ForgedMachine first = forged_a100();
  first.train = plain;
  first.scaled = true;
  EXPECT_THAT(reasons(compared({first, with(lower, true)})), ElementsAre("another precision policy: train.scaler.init is 1024.0, in A 65536.0"));
  // No mode scales its loss: what its scaler would have been is nothing.
  first.scaled = false;
  EXPECT_EQ(compared({first, with(lower, false)}).machines->machines.size(), 2u);
  first.train = R"({"accumulator_format": "fp32", "lr": 0.001})";
  EXPECT_THAT(reasons(compared({first, with(R"({"accumulator_format": "bf16", "lr": 0.001})", false)})), ElementsAre(R"(another precision policy: train.accumulator_format is "bf16", in A "fp32")"));
}

TEST_F(Machines, OneFileByTwoNamesCountsOnce) {
  const RunFileReader& file = file_of(forged_a100());
  const std::filesystem::path path = file.path();
  const RunFileReader again((path.parent_path() / "." / path.filename()).string());
  const Comparison all = compare({&file, &again});
  EXPECT_EQ(all.settings.size(), 1u);
  EXPECT_THAT(all.files, ElementsAre(file.path()));
  EXPECT_THAT(all.warnings, Contains(HasSubstr("are one file: it counts once")));
  EXPECT_THAT(all.warnings, Not(Contains(HasSubstr("was run twice"))));
  EXPECT_THAT(short_names({"a/run.ulp", "b/run.ulp", "c.ulp"}), ElementsAre("a/run.ulp", "b/run.ulp", "c.ulp"));
  EXPECT_THAT(short_names({"/x/a/run.ulp", "/y/a/run.ulp", "/y/z/other.ulp"}), ElementsAre("/x/a/run.ulp", "/y/a/run.ulp", "other.ulp"));
  EXPECT_THAT(short_names({"run.ulp", "/run.ulp"}), ElementsAre("run.ulp", "/run.ulp"));
  EXPECT_EQ(short_name("/y/a/run.ulp", {"/x/a/run.ulp", "/y/a/run.ulp"}), "/y/a/run.ulp");
}

TEST_F(Machines, AnImportedLogIsNoMachineButASettingOfItsOwn) {
  for (const bool in_front : {false, true}) {
    const Comparison two = in_front ? compared({forged_log(), forged_cpu()}) : compared({forged_cpu(), forged_log()});
    EXPECT_FALSE(two.machines);
    EXPECT_EQ(two.settings.size(), 2u);
    EXPECT_EQ(two.modes.size(), 4u);
    EXPECT_THAT(two.warnings, Contains(AllOf(HasSubstr("A and B are not alike and not held against each other: they differ in"), HasSubstr("batch"))));
  }
  // Beside machines it is left where it is, in front or not.
  const Comparison all = compared({forged_log(), forged_a100(), forged_h100()});
  ASSERT_TRUE(all.machines);
  ASSERT_EQ(all.machines->machines.size(), 2u);
  EXPECT_EQ(all.machines->machines[0].tag, "B");
  EXPECT_THAT(all.machines->refused, IsEmpty());
  EXPECT_NEAR(*mode(all, "fp16").at[1].ratio.value, 0.5, 1e-12);
}

TEST_F(Machines, AnotherFileOfTheFirstMachineIsRefusedLikeAnyOther) {
  ForgedMachine bigger = forged_a100();
  bigger.batch = 16;
  const Comparison all = compared({forged_log(), forged_a100(), bigger, forged_h100()});
  ASSERT_EQ(all.machines->machines.size(), 2u);
  ASSERT_EQ(all.machines->refused.size(), 1u);
  EXPECT_EQ(all.machines->refused[0].tag, "C");
  EXPECT_THAT(all.machines->refused[0].reasons, ElementsAre("another batch: batch is 16, in B 8"));
}

TEST_F(Machines, WhatIsNotOnRecordIsSaidToBeUnchecked) {
  ForgedMachine silent = forged_h100();
  silent.train = "{}";
  const Comparison all = compared({forged_a100(), silent});
  EXPECT_EQ(all.machines->machines.size(), 2u);
  EXPECT_THAT(all.machines->warnings, Contains(AllOf(HasSubstr("cannot be checked"), HasSubstr("settings of the training"))));
}

TEST_F(Machines, FilesOfOneMachineArePooled) {
  ForgedMachine second = forged_a100();
  second.seed = 2;
  const Comparison one = compared({forged_a100(), second});
  EXPECT_FALSE(one.machines);
  EXPECT_EQ(one.settings.size(), 1u);
  ForgedMachine other = forged_h100();
  const Comparison all = compared({forged_a100(), second, other});
  ASSERT_EQ(all.machines->machines.size(), 2u);
  EXPECT_THAT(all.machines->machines[0].files, ElementsAre(file_of(forged_a100()).path(), file_of(second).path()));
}

TEST_F(Machines, EveryFormSaysTheSame) {
  ForgedMachine hot = forged_h100();
  hot.throttle = 0x4;
  const Comparison all = compared({forged_a100(), hot, forged_cpu()});
  const std::string text = written(all, "text");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_THAT(text, AllOf(HasSubstr("0.5 x"), HasSubstr("989.4 table"), HasSubstr("1755 measured"), HasSubstr("no ratio"), HasSubstr("throttled: its clock")));
  const auto json = nlohmann::json::parse(written(all, "json"))["machines"];
  ASSERT_EQ(json["modes"].size(), 2u);
  const auto& b = json["modes"][1]["at"][1];
  EXPECT_NEAR(b["step_ratio"]["value"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(b["throttled"], true);
  EXPECT_EQ(b["peak_tflops"]["from"], "table");
  EXPECT_TRUE(json["modes"][1]["at"][2]["peak_tflops"]["value"].is_null());
  EXPECT_TRUE(json["modes"][1]["at"][2]["step_ratio"]["value"].is_null());
  EXPECT_EQ(json["modes"][1]["nodes"][0]["name"], "y");
  const std::string csv = written(all, "csv");
  EXPECT_THAT(csv, HasSubstr("B,fp16,NVIDIA H100 80GB HBM3,,machines.clock_mhz,MHz,1755,,,,,measured\r\n"));
  EXPECT_THAT(csv, HasSubstr("B,fp16,NVIDIA H100 80GB HBM3,,machines.clock_mhz_from,,measured,,,,,\r\n"));
  EXPECT_THAT(csv, ContainsRegex("B,fp16,NVIDIA H100 80GB HBM3,,machines.peak_tflops,TFLOP/s,989[.0-9]*,,,,,inferred\r\n"));
  EXPECT_THAT(csv, HasSubstr("B,fp16,NVIDIA H100 80GB HBM3,,machines.peak_tflops_from,,table,,,,,\r\n"));
  EXPECT_THAT(csv, HasSubstr("machines.bandwidth_gbs,GB/s,,,,,,unknown\r\n")) << "of the processor";
  EXPECT_THAT(csv, HasSubstr("machines.step_ratio,,0.5,"));
  EXPECT_THAT(csv, HasSubstr("machines.node_seconds forward y"));
  std::istringstream rows(csv);
  for (std::string line; std::getline(rows, line);) {
    if (line.find('"') != std::string::npos) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 11) << line;
  }
}

}  // namespace
}  // namespace ulpscope::reports
