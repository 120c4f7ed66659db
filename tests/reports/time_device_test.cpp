// The time report of a GPU, from forged kernel records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "reports/analysis/time.h"
#include "reports/analysis/time_peaks.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using testing::Contains;
using testing::HasSubstr;

class TimeOfADevice : public Scratch {
 protected:
  ModeTime of(const ForgedTime& t) { return time_report(write_times(in("g.ulp"), {&t}), {}).modes.at(0); }
  static ForgedTime gpu(const std::string& mode, const std::string& device = "NVIDIA H200") {
    ForgedTime t(mode);
    t.forged.run.device = device;
    t.forged.run.device_kind = "cuda";
    t.forged.run.time_provenance = Provenance::measured;
    t.sample(1e-3, false, 0.9e-3);
    return t;
  }
};

// Two traced steps of a product (100, 140 µs), its relu on another stream at the same time, an update, a copy; and a kernel of no step.
TEST_F(TimeOfADevice, KernelsAreMatchedByNode) {
  ForgedTime t = gpu("fp32", "Testium GPU");
  t.timed("y", 7e-3);  // the host's clock around a launch: not what the device took
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  t.kernel("relu", 1, t.id("y.relu"), 1050, 100);  // 50 µs beside the product
  t.kernel("sgd", 1, t.id("w.update"), 1200, 20);
  t.kernel("gemm", 2, t.id("y"), 2000, 140);
  t.kernel("[CUDA memcpy HtoD]", 2, std::nullopt, 2200, 40);
  t.kernel("strange", 2, NodeId{99}, 2300, 60);
  t.kernel("warm up", std::nullopt, t.id("y"), 500, 900);
  const ModeTime m = of(t);
  EXPECT_EQ(m.nodes_from, NodeSource::kernels);
  EXPECT_DOUBLE_EQ(*node_named(m, "y").seconds.value, 170e-6);  // (100 + 100 + 140) / 2
  EXPECT_DOUBLE_EQ(*node_named(m, "y").kernels, 1.5);
  EXPECT_DOUBLE_EQ(*node_named(m, "w.update").seconds.value, 10e-6);
  EXPECT_EQ(node_named(m, "[CUDA memcpy HtoD]").category, TimeCategory::copies);
  EXPECT_DOUBLE_EQ(*node_named(m, "[CUDA memcpy HtoD]").seconds.value, 20e-6);
  EXPECT_EQ(node_named(m, "strange").category, TimeCategory::unmatched);
  EXPECT_DOUBLE_EQ(*m.nodes_sum.value, 230e-6);
  ASSERT_TRUE(m.device);
  EXPECT_EQ(m.device->traced_steps, 2);
  EXPECT_EQ(m.device->without_step, 1);
  EXPECT_EQ(m.device->without_node, 2);
  EXPECT_DOUBLE_EQ(*m.device->kernels_per_step.value, 3.0);
  EXPECT_DOUBLE_EQ(*m.device->busy_seconds.value, 205e-6);  // (150 + 20 + 140 + 40 + 60) / 2
  EXPECT_DOUBLE_EQ(*m.device->busy.value, 0.205);
  EXPECT_DOUBLE_EQ(*m.device_step.value, 0.9e-3);
  EXPECT_FALSE(node_named(m, "unscale_check").seconds.value);  // no kernel of it was seen
  EXPECT_EQ(m.untimed, 1);
  EXPECT_THAT(m.notes, Contains(HasSubstr("1 of 5 launches have no time")));
  EXPECT_THAT(m.notes, Contains(HasSubstr("2 of 6 kernels belong to no known node")));
}

TEST_F(TimeOfADevice, LaunchBound) {
  ForgedTime t = gpu("fp16", "Testium GPU");
  t.kernel("gemm", 1, t.id("y"), 1000, 300);
  EXPECT_THAT(reason_keys(of(t)), Contains("launch_bound"));
  t.kernels[0].duration_ns = 600'000;
  EXPECT_THAT(reason_keys(of(t)), testing::Not(Contains("launch_bound")));
}

TEST_F(TimeOfADevice, TensorCoresAreCountedOrInferredOrUnknown) {
  ForgedTime t = gpu("bf16");
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  EXPECT_EQ(node_named(of(t), "y").tensor_cores, TensorCores::unknown);  // 0.7 TFLOP/s say nothing
  EXPECT_FALSE(of(t).device->tensor_core_share.value);
  t.kernels[0].tensor_pipe = 0.0;
  EXPECT_EQ(node_named(of(t), "y").tensor_cores, TensorCores::no);
  t.kernels[0].tensor_pipe = 0.25;
  EXPECT_EQ(node_named(of(t), "y").tensor_cores, TensorCores::yes);
  EXPECT_EQ(node_named(of(t), "y").tensor_cores_provenance, Provenance::counted);
  EXPECT_DOUBLE_EQ(*of(t).device->tensor_core_share.value, 1.0);
  t.kernels[0].tensor_pipe = std::nullopt;
  for (NodeRecord& node : t.forged.nodes)
    if (node.name == "y") node.flops = 10'000'000'000;  // in 100 µs: 100 TFLOP/s, above the 67 of fp32
  const ModeTime m = of(t);
  EXPECT_EQ(node_named(m, "y").tensor_cores, TensorCores::yes);
  EXPECT_EQ(node_named(m, "y").tensor_cores_provenance, Provenance::inferred);
  EXPECT_NEAR(*node_named(m, "y").of_peak, 100.0 / 989.4, 1e-4);
  EXPECT_FALSE(node_named(m, "y").faster_than_peak);
}

TEST_F(TimeOfADevice, FasterThanTheHardware) {
  ForgedTime t = gpu("fp32");
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  for (NodeRecord& node : t.forged.nodes)
    if (node.name == "y") node.flops = 7'000'000'000;  // 70 TFLOP/s, peak 67
  const ModeTime m = of(t);
  EXPECT_TRUE(node_named(m, "y").faster_than_peak);
  EXPECT_THAT(m.notes, Contains(HasSubstr("faster than the hardware")));
  ForgedTime late = gpu("fp32");
  late.samples[0].wall_seconds = 0.5e-3;  // the device was at work for 0.9 ms
  EXPECT_THAT(of(late).notes, Contains(HasSubstr("clock was stopped too early")));
}

// The device's clock and the host's may differ where the GPU waits, and not where it is what the step waits for.
TEST_F(TimeOfADevice, ClocksThatDisagreeMakeATimeInvalid) {
  ForgedTime t = gpu("fp32", "Testium GPU");   // step 1 ms
  t.samples[0].device_seconds = 0.91e-3;
  t.kernel("gemm", 1, t.id("y"), 1000, 850);
  EXPECT_EQ(of(t).invalid, "");
  t.samples[0].device_seconds = 0.86e-3;       // 14 % apart, and the GPU was busy for 85 %
  EXPECT_THAT(of(t).invalid, HasSubstr("the GPU is busy for 85 % of the step, and yet events on the device say 0.86 ms and the host's clock 1 ms"));
  EXPECT_THAT(of(t).notes, Contains(HasSubstr("the step's time is invalid")));
  t.kernels[0].duration_ns = 400'000;          // it waits for launches: nothing is wrong
  EXPECT_EQ(of(t).invalid, "");
  t.samples[0].device_seconds = 1.2e-3;        // no host waits for less than the device works
  EXPECT_THAT(of(t).invalid, HasSubstr("the host's clock was stopped too early"));
  t.samples[0].device_seconds = 1.09e-3;
  EXPECT_EQ(of(t).invalid, "");
  ForgedTime cpu("fp32");
  cpu.sample(1e-3, false, 2e-3);
  EXPECT_EQ(of(cpu).invalid, "");
}

TEST_F(TimeOfADevice, TensorCoresOfFp32AreTf32s) {
  const auto in = [&](const std::string& device, std::int64_t flops) {
    ForgedTime t = gpu("fp32", device);
    t.kernel("gemm", 1, t.id("y"), 1000, 100);
    for (NodeRecord& node : t.forged.nodes)
      if (node.name == "y") node.flops = flops;
    return node_named(of(t), "y");
  };
  // Case 57: nothing but TF32 multiplies as fast on this device.
  const NodeTime fast = in("NVIDIA A100-SXM4-40GB", 3'000'000'000);
  EXPECT_EQ(fast.tensor_cores, TensorCores::yes);
  EXPECT_THAT(fast.tensor_cores_why, HasSubstr("30.0 TFLOP/s is more than 19.5"));
  EXPECT_EQ(in("NVIDIA A100-SXM4-40GB", 1'000'000'000).tensor_cores, TensorCores::unknown);
  // A time that cannot be true proves nothing.
  EXPECT_EQ(in("NVIDIA A100-SXM4-40GB", 30'000'000'000).tensor_cores, TensorCores::unknown);
  const NodeTime volta = in("Tesla V100-SXM2-16GB", 1'000'000'000);
  EXPECT_EQ(volta.tensor_cores, TensorCores::no) << "they take fp16 alone";
  EXPECT_EQ(volta.tensor_cores_provenance, Provenance::inferred);
}

// A GeForce part boosts above the clock of its data sheet: what it reports, or was sampled at, is its peak.
TEST_F(TimeOfADevice, PeaksAreAtTheClockTheDeviceHas) {
  ForgedTime t = gpu("fp32", "NVIDIA GeForce RTX 4090");  // 82.6 TFLOP/s at 2520 MHz
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  for (NodeRecord& node : t.forged.nodes)
    if (node.name == "y") node.flops = 8'800'000'000;  // 88 TFLOP/s
  const auto with = [&](const std::string& devices, Number sampled) {
    t.forged.run.machine = MachineId{1};
    { write_times(in("g.ulp"), {&t}); }
    RunFileWriter writer(in("g.ulp"), {.append = true});
    writer.push(MachineRecord{.id = MachineId{1}, .devices_json = devices});
    writer.push(DeviceSample{.phase = "timing", .core_clock_mhz = sampled});
    writer.close();
    return node_named(time_report(RunFileReader(in("g.ulp")), {}).modes.at(0), "y");
  };
  const auto reports = [](int mhz) {
    return R"({"cuda": {"gpus": [{"name": "AMD"}, {"name": "NVIDIA GeForce RTX 4090", "multiprocessors": 128, "clock_mhz": )" + std::to_string(mhz) + "}]}}";
  };
  EXPECT_TRUE(with("", {}).faster_than_peak);
  EXPECT_TRUE(with(reports(2520), 2500.0).faster_than_peak);
  EXPECT_TRUE(with(R"({"cuda": {"gpus": [{"name": "NVIDIA GeForce RTX 3090", "multiprocessors": 128, "clock_mhz": 2790}]}})", {}).faster_than_peak) << "another device";
  EXPECT_TRUE(with(R"({"cuda": {"gpus": 3}})", {}).faster_than_peak);
  const NodeTime reported = with(reports(2700), {});
  EXPECT_FALSE(reported.faster_than_peak);
  EXPECT_NEAR(*reported.of_peak, 88.0 / (128 * 128 * 2 * 2700e-6), 2e-5);
  EXPECT_FALSE(with(reports(2520), 2700.0).faster_than_peak);
  EXPECT_FALSE(with("", 2700.0).faster_than_peak);
}

// The margin is on both peaks: 1 % above the one without tensor cores proves nothing, and 1 % above that with them is no wrong time.
TEST_F(TimeOfADevice, BothPeaksHaveTheMargin) {
  const auto at = [&](const std::string& mode, double tflops) {
    ForgedTime t = gpu(mode, "NVIDIA A100-SXM4-40GB");
    t.kernel("gemm", 1, t.id("y"), 1000, 100);
    for (NodeRecord& node : t.forged.nodes)
      if (node.name == "y") node.flops = static_cast<std::int64_t>(tflops * 1e8);
    return node_named(of(t), "y");
  };
  EXPECT_EQ(at("bf16", 19.5 * 1.01).tensor_cores, TensorCores::unknown);
  EXPECT_EQ(at("bf16", 19.5 * 1.03).tensor_cores, TensorCores::yes);
  EXPECT_EQ(at("bf16", 312 * 1.01).tensor_cores, TensorCores::yes);
  EXPECT_EQ(at("bf16", 312 * 1.03).tensor_cores, TensorCores::unknown);
  EXPECT_FALSE(at("fp32", 19.5 * 1.01).faster_than_peak);
  EXPECT_TRUE(at("fp32", 19.5 * 1.03).faster_than_peak);
}

TEST_F(TimeOfADevice, Fp8IsOnTensorCoresWhereTheyTakeIt) {
  const auto in_fp8 = [&](const std::string& device, std::int64_t flops) {
    ForgedTime t = gpu("fp32", device);
    t.kernel("gemm", 1, t.id("y"), 1000, 100);
    for (NodeRecord& node : t.forged.nodes)
      if (node.name == "y") {
        node.compute_format = "e4m3";
        node.flops = flops;
      }
    return node_named(of(t), "y");
  };
  EXPECT_EQ(in_fp8("NVIDIA H100 80GB HBM3", 1'000'000'000).tensor_cores, TensorCores::unknown);  // 10 TFLOP/s
  const NodeTime fast = in_fp8("NVIDIA H100 80GB HBM3", 150'000'000'000);
  EXPECT_EQ(fast.tensor_cores, TensorCores::yes);
  EXPECT_NEAR(*fast.of_peak, 1500 / 1978.9, 2e-3);
  EXPECT_EQ(in_fp8("NVIDIA A100-SXM4-40GB", 1'000'000'000).tensor_cores, TensorCores::no);
}

TEST_F(TimeOfADevice, ConditionsAndThrottling) {
  ForgedTime fp16 = gpu("fp16", "Testium GPU");
  const auto with = [&](const std::vector<DeviceSample>& samples) {
    { write_times(in("g.ulp"), {&fp16}); }
    RunFileWriter writer(in("g.ulp"), {.append = true});
    for (const DeviceSample& s : samples) writer.push(s);
    writer.close();
    return time_report(RunFileReader(in("g.ulp")), {}).modes.at(0);
  };
  EXPECT_FALSE(with({}).condition);
  const DeviceSample training{.run = RunId{1}, .step = 3, .phase = "training", .core_clock_mhz = 1000.0, .throttle_reasons = 0x4};
  const DeviceSample timing{.phase = "timing", .core_clock_mhz = 1980.0, .throttle_reasons = 0};
  const DeviceSample hot{.phase = "timing", .core_clock_mhz = 1400.0, .throttle_reasons = 0x40};
  ModeTime m = with({training, timing, timing});
  EXPECT_EQ(m.condition->phase, "timing") << "the step is of the timing phase";
  EXPECT_EQ(m.condition->core_clock_mhz.value, 1980.0);
  EXPECT_THAT(reason_keys(m), testing::Not(Contains("throttled")));
  m = with({timing, hot});
  ASSERT_THAT(reason_keys(m), Contains("throttled"));
  for (const Reason& r : m.reasons) {
    if (r.key != std::string("throttled")) continue;
    EXPECT_EQ(r.text, "the GPU's clock was held down in 50 % of the samples of the timing phase: temperature (hardware) (1)");
  }
  EXPECT_EQ(with({training}).condition->phase, "training");
}

TEST_F(TimeOfADevice, WhereFp32WaitsForLaunchesThereIsNoReasonOfSpeed) {
  ForgedTime fp32 = gpu("fp32", "Testium GPU"), fp16("fp16", 2);
  fp16.forged.run.device = fp32.forged.run.device;
  fp16.forged.run.device_kind = "cuda";
  fp16.forged.run.time_provenance = Provenance::measured;
  fp16.sample(1.2e-3, false, 1.1e-3);
  fp32.kernel("gemm", 1, fp32.id("y"), 1000, 310);
  const auto reasons = [&] { return reason_keys(time_report(write_times(in("b.ulp"), {&fp32, &fp16}), {}).modes.at(1)); };
  EXPECT_THAT(reasons(), Contains("no_speed_reason"));
  fp16.samples[0].wall_seconds = 0.5e-3;   // it is faster all the same
  fp16.samples[0].device_seconds = 0.5e-3;
  EXPECT_THAT(reasons(), testing::Not(Contains("no_speed_reason")));
  fp16.samples[0].wall_seconds = 1.2e-3;
  fp32.kernels[0].duration_ns = 900'000;
  EXPECT_THAT(reasons(), testing::Not(Contains("no_speed_reason")));
}

TEST_F(TimeOfADevice, RecordsThatAreNoUse) {
  ForgedTime t = gpu("fp32", "Testium GPU");
  t.kernel("gemm", 1, t.id("y"), 0, 100);
  t.kernel("gemm", 1, t.id("y"), 1000, 50);
  const ModeTime m = of(t);
  EXPECT_DOUBLE_EQ(*node_named(m, "y").seconds.value, 50e-6);
  EXPECT_THAT(m.notes, Contains(HasSubstr("1 of 2 kernel records")));
  t.kernels[1].step = std::nullopt;
  t.timed("y", 7e-3);
  EXPECT_EQ(of(t).nodes_from, NodeSource::clock);
  EXPECT_THAT(of(t).notes, Contains(HasSubstr("no time per step can be made of them")));
}

TEST_F(TimeOfADevice, TheFactorOfTheBoundIsThePeaks) {
  const auto bound = [&](const std::string& device, const std::string& mode) {
    ForgedTime fp32 = gpu("fp32", device), lower(mode, 2);
    fp32.kernel("gemm", 1, fp32.id("y"), 1000, 600);
    lower.forged.run.device = device;
    lower.forged.run.device_kind = "cuda";
    return time_report(write_times(in("b.ulp"), {&fp32, &lower}), {}).modes.at(1).bound;
  };
  EXPECT_DOUBLE_EQ(*bound("NVIDIA H200", "bf16").factor.value, 989.4 / 67);
  EXPECT_DOUBLE_EQ(*bound("NVIDIA H200", "bf16").ideal.value, 1.0 / (1.0 - 0.6 + 0.6 * 67 / 989.4));
  EXPECT_DOUBLE_EQ(*bound("NVIDIA GeForce RTX 4090", "tf32").factor.value, 1.0);  // no gain there
  EXPECT_DOUBLE_EQ(*bound("Tesla T4", "bf16").factor.value, 1.0);                 // no hardware
  EXPECT_DOUBLE_EQ(*bound("Testium GPU", "bf16").factor.value, 2.0);
  EXPECT_FALSE(bound("Testium GPU", "tf32").factor.value);
  EXPECT_DOUBLE_EQ(*bound("Testium GPU", "tf32").free.value, 2.5);
}

TEST(DevicePeaks, NamesAreMatchedByWholeWords) {
  EXPECT_EQ(device_peaks("NVIDIA H200")->bandwidth, 4800);
  EXPECT_EQ(device_peaks("NVIDIA GH200 480GB")->bandwidth, 4000);
  EXPECT_EQ(device_peaks("NVIDIA H100 PCIe")->fp32, 51);
  EXPECT_EQ(device_peaks("NVIDIA H100 80GB HBM3")->fp32, 67);
  EXPECT_EQ(device_peaks("NVIDIA A100-SXM4-80GB")->bandwidth, 2039);
  EXPECT_EQ(*device_peaks("Tesla V100-SXM2-16GB")->fp16, 125);
  EXPECT_EQ(*device_peaks("NVIDIA L40S")->bf16, 362);
  EXPECT_EQ(*device_peaks("NVIDIA L4")->bf16, 121);
  for (const char* unknown : {"NVIDIA H200 NVL", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "AMD EPYC", ""})
    EXPECT_FALSE(device_peaks(unknown)) << unknown;
  EXPECT_FALSE(device_peaks("Tesla T4")->of("bf16"));
  EXPECT_EQ(*device_peaks("Tesla T4")->of("fp16"), 65);
}

}  // namespace
}  // namespace ulpscope::reports
