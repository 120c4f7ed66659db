// What shares are fitted to, against runs whose every time follows from a share and a launch floor that are known.
#include "reports/analysis/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "reports/analysis/projection.h"
#include "reports/export/write_projection.h"
#include "reports/hardware/table.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* a100 = "NVIDIA A100-SXM4-80GB";
const Gpu& gpu(const char* words) { return gpu_table().named(words); }

class Calibration : public Scratch {
 protected:
  std::vector<MeasuredRun> measured(const std::vector<const ForgedTime*>& modes) { return measured_runs(write_times(in("m.ulp"), modes), left_out_); }
  std::vector<std::string> left_out_;
};

std::vector<const MeasuredRun*> each(const std::vector<MeasuredRun>& runs) {
  std::vector<const MeasuredRun*> all;
  for (const MeasuredRun& run : runs) all.push_back(&run);
  return all;
}

/// The same plan with nodes that are so many times as large; memory limits all of them.
ForgedTime sized(const std::string& mode, std::int64_t id, const std::map<std::string, std::int64_t>& times) {
  ForgedTime t(mode, id);
  t.forged.run.device = a100;
  t.forged.run.device_kind = "cuda";
  t.forged.run.time_provenance = Provenance::measured;
  for (NodeRecord& node : t.forged.nodes) {
    const auto found = times.find(node.name == "y.relu" ? "y" : node.name);
    if (found == times.end()) continue;
    node.flops = *node.flops / 8 * found->second;
    node.bytes_read = *node.bytes_read * found->second;
    node.bytes_written = *node.bytes_written * found->second;
    for (auto* list : {&node.inputs, &node.outputs})
      for (Signature& s : *list)
        if (!s.shape.empty()) s.shape[0] *= found->second;
  }
  return t;
}

PlannedMode plan_of(const ForgedTime& t) { return {.mode = t.forged.run.mode, .plan = time_parts::plan_of(t.forged.nodes, t.forged.tensors, t.forged.edges)}; }

/// Seconds of every launch: `seconds` of its time at the peaks of an A100.
template <class Seconds>
double timed(ForgedTime& t, Seconds&& seconds) {
  double step = 0.0;
  for (const PlannedLaunch& launch : planned_launches(plan_of(t).plan)) {
    const double s = seconds(*ideal_seconds(*work_on(launch, gpu("a100 sxm 80gb")), gpu("a100 sxm 80gb")));
    t.timed(launch.name, s);
    step += s;
  }
  for (int i = 0; i < 3; ++i) t.sample(step);
  return step;
}
/// What this device takes in truth: 1.6 times what the peaks allow, and never under 5 µs.
double truth(double ideal) { return std::max(5e-6, 1.6 * ideal); }

// Every node of a small model takes 2 µs: that is what a launch takes, and no share of a peak.
TEST_F(Calibration, ALaunchIsNoShareOfAPeak) {
  ForgedTime a = sized("fp32", 1, {}), b = sized("fp16", 2, {}), c = sized("bf16", 3, {{"y", 700}});  // y takes 1 µs at the peak
  for (ForgedTime* t : {&a, &b, &c}) timed(*t, [](double) { return 2e-6; });
  const std::vector<MeasuredRun> runs = measured({&a, &b, &c});
  ASSERT_THAT(runs, SizeIs(3));
  for (const MeasuredRun& run : runs) {
    EXPECT_THAT(run.samples, IsEmpty()) << run.run.mode;
    EXPECT_GE(run.near_floor, 3);
    EXPECT_NEAR(*run.launch_seconds, 2e-6, 1e-12);
  }
  const Attainable fit = fitted(gpu("a100"), each(runs)), plain = assumed(gpu("a100"));
  EXPECT_NEAR(fit.launch.spread.likely, 2e-6, 1e-12);
  EXPECT_EQ(fit.launch.samples, 3);
  // A model whose launches take some µs at the peaks, "small" as well: the assumed shares hold.
  ForgedTime big = sized("fp32", 1, {{"y", 2000}, {"unscale_check", 1500}, {"w.update", 1500}});
  const double step = *project_mode(plan_of(big), gpu("a100"), fit).step.value, without = *project_mode(plan_of(big), gpu("a100"), plain).step.value;
  EXPECT_GT(step, 15e-6);
  EXPECT_NEAR(step / without, 1.0, 0.1);
  const Projection p = project({.modes = {plan_of(big)}}, {{"a100", gpu("a100")}}, runs);
  EXPECT_THAT(p.calibrated_by, Contains(runs[0].file + ", fp32 on A100 SXM 80GB: 0 launches, and 3 that take as long as any launch"));
}

// Runs with launches that take the floor and others that take 1.6 × what the peaks allow; a step of a third size is projected to 3 %.
TEST_F(Calibration, MixedSizesProjectAThird) {
  ForgedTime a = sized("fp32", 1, {{"y", 300000}, {"w.update", 400000}}), b = sized("fp16", 2, {{"y", 250000}, {"w.update", 300000}}),
             c = sized("bf16", 3, {{"y", 400000}, {"unscale_check", 200000}});
  for (ForgedTime* t : {&a, &b, &c}) timed(*t, truth);
  const std::vector<MeasuredRun> runs = measured({&a, &b, &c});
  ASSERT_THAT(runs, SizeIs(3));
  const Attainable fit = fitted(gpu("a100"), each(runs));
  EXPECT_NEAR(fit.of(WorkClass::memory, WorkSize::large).spread.likely, 1 / 1.6, 1e-6);
  EXPECT_EQ(fit.of(WorkClass::memory, WorkSize::small).samples, 0) << "those took the floor";
  EXPECT_EQ(fit.of(WorkClass::memory, WorkSize::large).samples, 6);
  // Between them in size, with a launch in which work of some µs has only just more to do than the floor, and one of the floor.
  ForgedTime third = sized("fp32", 1, {{"y", 60000}, {"w.update", 2500}});
  const double real = timed(third, truth);
  const Figure step = project_mode(plan_of(third), gpu("a100"), fit).step;
  EXPECT_NEAR(*step.value / real, 1.0, 0.03);
  EXPECT_LE(*step.low, real);
  EXPECT_GE(*step.high, real);
}

// Three kernels of a node that takes 6 µs take 2 each: that is the floor, though its work would take 1.2 µs at the peak.
TEST_F(Calibration, TheFloorIsOfAKernel) {
  const auto run = [&](int kernels) {
    ForgedTime t = sized("fp16", 1, {{"w.update", 600}});
    t.sample(100e-6);
    for (const char* node : {"w", "y", "scale_loss", "unscale_check", "w.update"}) t.timed(node, 2e-6);  // one call of each
    for (const char* node : {"w", "y", "scale_loss", "unscale_check"}) t.kernel("k", 1, t.id(node), 1000 + 10 * std::ssize(t.kernels), 2);
    for (int i = 0; i < kernels; ++i) t.kernel("k", 1, t.id("w.update"), 2000 + 10 * i, 6 / kernels);
    return measured({&t}).at(0);
  };
  EXPECT_EQ(run(3).near_floor, 5);
  EXPECT_THAT(run(3).samples, IsEmpty());
  EXPECT_EQ(run(1).near_floor, 4);
  EXPECT_THAT(run(1).samples, SizeIs(1));
}

TEST_F(Calibration, TheLaunchCostOfFewRunsHasTheAssumedRange) {
  ForgedTime a = sized("fp32", 1, {}), b = sized("fp16", 2, {}), c = sized("bf16", 3, {});
  for (ForgedTime* t : {&a, &b, &c}) timed(*t, [](double) { return 2e-6; });
  const std::vector<MeasuredRun> runs = measured({&a, &b, &c});
  ASSERT_THAT(runs, SizeIs(3));
  for (const char* there : {"a100", "h100"}) {
    const Share one = fitted(gpu(there), {&runs[0]}).launch;
    EXPECT_NEAR(one.spread.low, 1.2e-6, 1e-12) << there;  // 3 … 5 … 10 µs in proportion
    EXPECT_NEAR(one.spread.likely, 2e-6, 1e-12);
    EXPECT_NEAR(one.spread.high, 4e-6, 1e-12);
    EXPECT_FALSE(one.error);
  }
  std::ostringstream text;
  write_projection_text(project({.modes = {plan_of(a)}}, {{"h100", gpu("h100")}}, {runs[0]}), text);
  EXPECT_THAT(text.str(), AllOf(HasSubstr("fitted to 1 run,"), HasSubstr("assumed")));
  EXPECT_TRUE(fitted(gpu("a100"), each(runs)).launch.error);
}

TEST_F(Calibration, TimesThatCannotBeTrueAreLeftOut) {
  ForgedTime a = sized("fp32", 1, {{"y", 300000}, {"w.update", 400000}});
  timed(a, truth);
  a.samples.clear();
  a.sample(1e-3, false, 2e-3);  // the device was at work for longer than the step took
  EXPECT_THAT(measured({&a}), IsEmpty());
  EXPECT_THAT(left_out_, ElementsAre(AllOf(HasSubstr("m.ulp, fp32: its time is invalid"), HasSubstr("clock was stopped too early"))));
  // A product in half of the time that the peak allows: it is no sample, and the step is not held against a projection.
  left_out_.clear();
  ForgedTime b = sized("fp32", 1, {{"y", 300000}, {"unscale_check", 300000}, {"w.update", 400000}});
  for (NodeRecord& node : b.forged.nodes)
    if (node.name == "y") node.flops = 200'000'000'000;  // 10.3 ms at 19.5 TFLOP/s
  timed(b, truth);
  for (NodeTiming& row : b.timings)
    if (row.node == b.id("y")) row.seconds = 4 * 5e-3;
  const std::vector<MeasuredRun> runs = measured({&b});
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].samples, SizeIs(2));
  for (const MeasuredRun::Sample& sample : runs[0].samples) EXPECT_EQ(sample.work, WorkClass::memory);
  EXPECT_FALSE(runs[0].step_seconds);
  EXPECT_THAT(left_out_, ElementsAre(HasSubstr("m.ulp, fp32: a product is faster than the hardware can be in the plan's format: left out, and so is the step's time")));
  EXPECT_THAT(check_projections({runs[0], runs[0]}), IsEmpty());
}

TEST_F(Calibration, WhatARunDoesNotSayHasItsOwnWords) {
  const auto why = [&](Provenance provenance, const std::string& attributes = "") {
    ForgedTime t = sized("fp16", 1, {{"y", 300000}});
    timed(t, truth);
    t.forged.run.time_provenance = provenance;
    if (!attributes.empty()) t.forged.run.attributes_json = attributes;
    left_out_.clear();
    const std::size_t runs = measured({&t}).size();
    EXPECT_EQ(runs, left_out_.empty() ? 1u : 0u);
    return left_out_.empty() ? "" : left_out_.front();
  };
  EXPECT_EQ(why(Provenance::measured), "");
  EXPECT_THAT(why(Provenance::emulated), HasSubstr(": its device emulates the mode"));
  EXPECT_THAT(why(Provenance::unknown), HasSubstr(": it does not say whether its times were measured"));
  EXPECT_THAT(why(Provenance::projected), HasSubstr(": its times are projected, not measured"));
  EXPECT_THAT(why(Provenance::measured, R"({"sums": {"as": "hopper", "of_unit": 17}})"), HasSubstr("the sums of hopper's matrix units, emulated"));
}

TEST_F(Calibration, EmulatedSumsAreSaidInANote) {
  ForgedTime fp32("fp32", 1), fp16("fp16", 2);
  fp16.forged.run.attributes_json = R"({"sums": {"as": "hopper", "of_unit": 17}})";
  ProjectionInput input{.file = "h.ulp", .modes = planned_modes(write_times(in("h.ulp"), {&fp32, &fp16}), {})};
  const Projection p = project(input, {{"t4", gpu("t4")}}, {});
  EXPECT_THAT(p.notes, ElementsAre(AllOf(HasSubstr("fp16: in h.ulp products have the sums of hopper's matrix units, emulated"), HasSubstr("projected are the GPUs' own products"))));
}

TEST_F(Calibration, AnErrorThatIsNotKnownIsNotZero) {
  Projection p;
  p.checked = {{.file = "a.ulp", .mode = "fp16", .gpu = "T4", .measured = 1e-3}};
  const auto text = [&] {
    std::ostringstream out;
    write_checked_text(p, out);
    return out.str();
  };
  EXPECT_THAT(text(), HasSubstr("greatest error unknown"));
  p.checked.push_back({.file = "b.ulp", .mode = "fp16", .gpu = "T4", .measured = 1e-3, .error = -0.07, .within = true});
  EXPECT_THAT(text(), HasSubstr("greatest error 7 %"));
}

}  // namespace
}  // namespace ulpscope::reports
