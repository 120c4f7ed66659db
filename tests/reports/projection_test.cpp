// The projection against closed forms, published figures, and measured runs made up with known shares.
#include "reports/analysis/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/export/layout.h"
#include "reports/export/write_projection.h"
#include "reports/hardware/table.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ProjectionTest : public Scratch {};

const Gpu& gpu(const char* words) { return gpu_table().named(words); }

/// One square product, n × n × n, in a format.
Work product(double n, const char* format, const Gpu& on) {
  const auto support = product_support(on, format);
  const double width = std::string_view(format) == "fp32" || std::string_view(format) == "tf32" ? 4.0 : 2.0;
  return {.product = support.rate == Rate::fp32 ? WorkClass::fp32_products : WorkClass::matrix_units, .product_peak = support.peak, .product_flops = 2.0 * n * n * n, .bytes = 3.0 * n * n * width};
}

LaunchSeconds seconds(double n, const char* format, const char* on) { return seconds_of(product(n, format, gpu(on)), gpu(on), assumed(gpu(on))); }

// Case 57: 2 · 4096³ FLOPs take 0.4405 ms at 312 TFLOP/s and 7.05 ms at 19.5: no projection is faster than the peak.
TEST(ProjectedProduct, IsNeverFasterThanThePeak) {
  for (const char* format : {"fp16", "bf16"}) {
    const LaunchSeconds s = seconds(4096, format, "a100");
    EXPECT_GE(s.seconds.low, 0.4405e-3);
    EXPECT_EQ(s.limit, Limit::products);
  }
  const LaunchSeconds fp32 = seconds(4096, "fp32", "a100");
  EXPECT_GE(fp32.seconds.low, 7.04e-3);
  EXPECT_NEAR(*ideal_seconds(product(4096, "fp32", gpu("a100")), gpu("a100")), 137.438953472e9 / 19.5e12, 1e-9);
  EXPECT_LT(fp32.seconds.high, 7.05e-3 / 0.5 * 1.01);
  for (const Gpu& one : gpu_table().gpus())
    for (const char* format : {"fp32", "tf32", "fp16", "bf16"}) {
      const Work work = product(4096, format, one);
      const LaunchSeconds s = seconds_of(work, one, assumed(one));
      ASSERT_TRUE(s.known) << one.name;
      EXPECT_GE(s.seconds.low, 137.438953472e9 / (*work.product_peak * 1e12) * 0.999999) << one.name << format;
      EXPECT_LE(s.seconds.low, s.seconds.likely);
      EXPECT_LE(s.seconds.likely, s.seconds.high);
    }
}

// Published attainable rates (MAMF): 271 of 312, 794 of 989.4, 1745 of 2250 TFLOP/s. The fast end of the range is that figure; the likely
// time is 1.45, 1.34, 1.29 times as long, as a training step does not have the best shapes. Without the figure of its own part the fast
// end would be A100's share: off by 0, 8 and 12 %.
TEST(ProjectedProduct, AgainstPublishedRates) {
  const struct {
    const char* name;
    double published, likely_is, others;
  } rows[] = {{"a100", 271, 1.448, 0.0}, {"h100", 794, 1.338, 0.082}, {"b200", 1745, 1.293, 0.120}};
  for (const auto& row : rows) {
    const LaunchSeconds s = seconds(16384, "bf16", row.name);
    const double measured = 2.0 * 16384.0 * 16384.0 * 16384.0 / (row.published * 1e12);
    EXPECT_NEAR(s.seconds.low / measured, 1.0, 1e-9) << row.name;
    EXPECT_NEAR(s.seconds.likely / measured, row.likely_is, 2e-3) << row.name;
    Gpu without = gpu(row.name);
    without.attainable = {};
    const double blind = 1e-12 * 2.0 * 16384.0 * 16384.0 * 16384.0 / seconds_of(product(16384, "bf16", without), without, assumed(without)).seconds.low;
    EXPECT_NEAR(blind / row.published - 1.0, row.others, 2e-3) << row.name;
  }
}

TEST(ProjectedProduct, SmallWorkIsALaunch) {
  EXPECT_EQ(seconds(64, "fp16", "a100").limit, Limit::launch);
  EXPECT_DOUBLE_EQ(seconds(64, "fp16", "a100").seconds.likely, 5e-6);
  // A copy of 1 GB at 2039 GB/s and 75 %.
  const LaunchSeconds copy = seconds_of({.bytes = 1e9}, gpu("a100"), assumed(gpu("a100")));
  EXPECT_EQ(copy.limit, Limit::memory);
  EXPECT_NEAR(copy.seconds.likely, 1.0 / 2039.0 / 0.75, 1e-9);
}

PlannedMode planned(const std::string& mode, std::int64_t micro_batches = 1) {
  const ForgedTime forged(mode);
  return {.mode = mode, .plan = time_parts::plan_of(forged.forged.nodes, forged.forged.tensors, forged.forged.edges), .micro_batches = micro_batches, .batch = 8, .tokens = 1000, .peak_bytes = 15000000000};
}

TEST_F(ProjectionTest, AStepIsTheSumOfItsLaunches) {
  // y (with y.relu), unscale_check, w.update: three launches of next to nothing; the view is none.
  const ModeProjection one = project_mode(planned("fp32"), gpu("t4"), assumed(gpu("t4")));
  EXPECT_EQ(one.launches, 3);
  EXPECT_DOUBLE_EQ(*one.step.value, 15e-6);
  EXPECT_DOUBLE_EQ(*one.step.low, 9e-6);
  EXPECT_DOUBLE_EQ(*one.step.high, 30e-6);
  EXPECT_EQ(one.step.provenance, Provenance::projected);
  EXPECT_DOUBLE_EQ(*one.limited[static_cast<std::size_t>(Limit::launch)], 1.0);
  EXPECT_DOUBLE_EQ(*one.tokens_per_second.value, 1000 / 15e-6);
  // Forward four times, the update once.
  EXPECT_DOUBLE_EQ(*project_mode(planned("fp32", 4), gpu("t4"), assumed(gpu("t4"))).step.value, (4 * 1 + 2) * 5e-6);
}

/// One launch of so many seconds at the peaks.
LaunchParts part(double product, Rate rate, double bytes, double calls = 1.0) {
  return {.calls = calls, .work = rate == Rate::fp32 ? WorkClass::fp32_products : WorkClass::matrix_units, .rate = rate, .size = WorkSize::large, .product = product, .bytes = bytes};
}

// Against closed forms: shares of products 0.5 … 0.95 in fp32 and 0.3 … 0.869 with matrix units, bandwidth 0.5 … 0.93, launches 3 … 10 µs.
TEST(RatioOfSteps, VariesWhatIsNotTheSameInBoth) {
  const Attainable shares = assumed(gpu("t4"));
  const double best = 271.0 / 312.0;
  const Figure products = ratio_of_steps({part(8e-3, Rate::fp32, 0)}, {part(1e-3, Rate::fp16, 0)}, shares);
  EXPECT_NEAR(*products.value, 8.0 * 0.6 / 0.8, 1e-12);
  EXPECT_NEAR(*products.low, 8.0 * 0.3 / 0.95, 1e-12) << "fp32 at its best beside fp16 at its worst";
  EXPECT_NEAR(*products.high, 8.0 * best / 0.5, 1e-12);
  EXPECT_EQ(products.provenance, Provenance::projected);
  // The same format, and the same memory: what is reached of it is no question of the mode.
  for (const LaunchParts& same : {part(1e-3, Rate::fp32, 0), part(1e-3, Rate::fp16, 0), part(0, Rate::fp32, 1e-3)}) {
    LaunchParts twice = same;
    twice.calls = 2.0;
    const Figure half = ratio_of_steps({twice}, {same}, shares);
    EXPECT_NEAR(*half.low, 2.0, 1e-12);
    EXPECT_NEAR(*half.high, 2.0, 1e-12);
  }
  // fp32 moves 1.15 ms of bytes; fp16 half of that, and launches 100 casts besides: which is faster depends on what a launch costs, and
  // what share of the bandwidth there is. Both at the same end of everything would say 1.05 at least.
  const std::vector<LaunchParts> fp32{part(0, Rate::fp32, 1.15e-3)}, fp16{part(0, Rate::fp32, 0.575e-3), part(0, Rate::fp32, 0, 100)};
  const Figure told = ratio_of_steps(fp32, fp16, shares);
  EXPECT_NEAR(*told.low, 1.15e-3 / 0.93 / (0.575e-3 / 0.93 + 100 * 10e-6), 1e-9);
  EXPECT_NEAR(*told.high, 1.15e-3 / 0.5 / (0.575e-3 / 0.5 + 100 * 3e-6), 1e-9);
  EXPECT_LT(*told.low, 1.0);
  EXPECT_GT(*told.high, 1.5);
  EXPECT_FALSE(ratio_of_steps({}, fp16, shares).value);
}

TEST_F(ProjectionTest, SpeedsHaveARangeOfTheirOwn) {
  const auto bytes = [](PlannedMode mode, std::int64_t times) {
    for (NodeRecord& node : mode.plan.nodes) node.flops = *node.flops * times;
    return mode;
  };
  const Projection p = project({.modes = {bytes(planned("fp32"), 4'000'000), bytes(planned("fp16"), 4'000'000)}}, {{"t4", gpu("t4")}}, {});
  const ModeProjection &fp32 = p.gpus.at(0).modes.at(0), &fp16 = p.gpus.at(0).modes.at(1);
  EXPECT_DOUBLE_EQ(*fp32.speed.low, 1.0);
  EXPECT_DOUBLE_EQ(*fp32.speed.high, 1.0);
  EXPECT_LT(*fp16.speed.low, *fp32.step.low / *fp16.step.low) << "wider than with both at their best";
  EXPECT_GT(*fp16.speed.high, *fp32.step.high / *fp16.step.high);
  EXPECT_DOUBLE_EQ(*fp16.beside.at("fp32").low, *fp16.speed.low);
  EXPECT_NEAR(*fp32.beside.at("fp16").high * *fp16.speed.low, 1.0, 1e-12);
  // The same plan in tf32 below 8.0 is fp32: nothing is uncertain of that.
  PlannedMode tf32 = bytes(planned("fp32"), 4'000'000);
  tf32.mode = "tf32";
  const Projection same = project({.modes = {bytes(planned("fp32"), 4'000'000), tf32}}, {{"v100", gpu("v100")}}, {});
  EXPECT_DOUBLE_EQ(*same.gpus.at(0).modes.at(1).speed.low, 1.0);
  EXPECT_DOUBLE_EQ(*same.gpus.at(0).modes.at(1).speed.high, 1.0);
}

TEST_F(ProjectionTest, EmulatedModesHaveNoTime) {
  const ModeProjection bf16 = project_mode(planned("bf16"), gpu("t4"), assumed(gpu("t4")));
  EXPECT_FALSE(bf16.step.known());
  EXPECT_THAT(bf16.no_time, HasSubstr("emulated"));
  EXPECT_TRUE(project_mode(planned("bf16"), gpu("a100"), assumed(gpu("a100"))).step.known());
  EXPECT_TRUE(project_mode(planned("fp16"), gpu("t4"), assumed(gpu("t4"))).step.known());
  EXPECT_FALSE(project_mode(planned("fp16"), gpu("p100"), assumed(gpu("p100"))).step.known());
  // tf32 below 8.0 is fp32 to the last digit.
  EXPECT_EQ(project_mode(planned("tf32"), gpu("v100"), assumed(gpu("v100"))).there.support, Support::no_effect);
}

TEST_F(ProjectionTest, MemoryFitsOrDoesNot) {
  ProjectionInput input{.modes = {planned("fp32"), planned("fp16")}};
  input.modes[1].peak_bytes = 15550000000;
  // 1 GB for each sample of the batch and 2 GB besides.
  input.peak_at = [](const std::string&, std::int64_t batch) { return Count(2000000000 + 1000000000 * batch); };
  const Projection p = project(input, {{"t4", gpu("t4")}, {"l4", gpu("l4")}, {"h100", gpu("h100")}, {"2080 ti", gpu("2080 ti")}}, {});
  const auto at = [&](std::size_t g, std::size_t m) -> const ModeProjection& { return p.gpus.at(g).modes.at(m); };
  EXPECT_EQ(at(0, 0).fits, Fits::maybe);   // 15.3 … 15.8 GB of 15.68 … 17.18
  EXPECT_EQ(at(0, 1).fits, Fits::maybe);
  EXPECT_EQ(at(1, 0).fits, Fits::yes);     // of 23.61 to the byte
  EXPECT_EQ(at(3, 0).fits, Fits::no);      // of 11
  EXPECT_EQ(at(0, 0).largest_batch, 12);   // 2 + 12 + 0.8 ≤ 15.68
  EXPECT_EQ(at(1, 0).largest_batch, 20);   // 2 + 20 + 0.8 ≤ 23.61
  EXPECT_EQ(at(2, 0).largest_batch, 75);   // ≤ 78.4
  EXPECT_EQ(*at(0, 0).memory.value, 15.5e9);
  EXPECT_FALSE(at(0, 0).batch_capped);
  input.peak_at = nullptr;
  EXPECT_FALSE(project(input, {{"t4", gpu("t4")}}, {}).gpus[0].modes[0].largest_batch);
  std::ostringstream text, document;
  write_projection_text(p, text);
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_THAT(text.str(), HasSubstr("projected"));
  write_projection_json(p, document);
  const auto json = nlohmann::json::parse(document.str());
  EXPECT_EQ(json["gpus"][0]["modes"][0]["step_seconds"]["provenance"], "projected");
  EXPECT_EQ(json["gpus"][0]["modes"][1]["fits"], "maybe");
}

TEST_F(ProjectionTest, ABatchWithoutAPlanSaysNothing) {
  ProjectionInput input{.modes = {planned("fp32")}};
  const auto largest = [&](std::int64_t unknown) {
    input.peak_at = [unknown](const std::string&, std::int64_t batch) { return batch == unknown ? Count() : Count(2000000000 + 1000000000 * batch); };
    return project(input, {{"t4", gpu("t4")}}, {}).gpus[0].modes[0].largest_batch;
  };
  EXPECT_EQ(largest(15), 12);  // neither doubled to nor halved to
  EXPECT_FALSE(largest(1)) << "not even one";
  EXPECT_FALSE(largest(4)) << "on the way up";
  EXPECT_FALSE(largest(16)) << "the one that would be too many";
  EXPECT_FALSE(largest(12)) << "in between";
}

void enlarge(ForgedTime& t, std::int64_t flops, std::int64_t bytes) {
  for (NodeRecord& node : t.forged.nodes) {
    if (node.flops) node.flops = *node.flops * flops;
    if (node.bytes_read) node.bytes_read = *node.bytes_read * bytes;
    if (node.bytes_written) node.bytes_written = *node.bytes_written * bytes;
    for (auto* list : {&node.inputs, &node.outputs})
      for (Signature& s : *list)
        if (!s.shape.empty()) s.shape[0] *= bytes;
  }
}

std::string text_of(const Projection& p) {
  std::ostringstream out;
  write_projection_text(p, out);
  std::istringstream lines(out.str());
  std::string joined, word;  // blanks and ends of lines are one blank
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  for (std::istringstream words(out.str()); words >> word;) joined += word + " ";
  return joined;
}

TEST_F(ProjectionTest, WhatTheTimeRestsOnIsWhatCarriedIt) {
  // At the peaks of a T4 each of the three takes between 2 and 10 µs: small launches, at half of the bandwidth's 0.75.
  ForgedTime t("fp32");
  enlarge(t, 1, 200);
  const PlannedMode small{.mode = "fp32", .plan = time_parts::plan_of(t.forged.nodes, t.forged.tensors, t.forged.edges)};
  const ProjectionInput input{.modes = {small}};
  const Projection p = project(input, {{"t4", gpu("t4")}}, {});
  const ModeProjection& mode = p.gpus.at(0).modes.at(0);
  double bytes = 0.0;
  for (const PlannedLaunch& launch : planned_launches(small.plan)) bytes += launch.bytes;
  EXPECT_NEAR(*mode.step.value, bytes / (320e9 * 0.375), 1e-12);
  const std::string text = text_of(p);
  EXPECT_THAT(text, HasSubstr("memory 100 % of the time (3 of 3 launches)"));
  EXPECT_THAT(text, HasSubstr("rests on 100 % of the time on 0.375 of the bandwidth in small launches (0.25…0.93, assumed)"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("0.75")));
  // With nothing to do it is all launch cost.
  EXPECT_THAT(text_of(project({.modes = {planned("fp32")}}, {{"t4", gpu("t4")}}, {})), HasSubstr("rests on 100 % of the time on the launch cost, 5 µs (3…10, assumed)"));
}

TEST_F(ProjectionTest, MemoryIsInPlainNumbers) {
  ProjectionInput input{.modes = {planned("fp16")}};  // no fp32: its column is "-"
  input.modes[0].peak_bytes = 4950000000000;
  EXPECT_THAT(text_of(project(input, {{"t4", gpu("t4")}}, {})), HasSubstr(" - 4950 GB no"));
  input.modes[0].peak_bytes = 9000000000000000000;
  EXPECT_THAT(text_of(project(input, {{"t4", gpu("t4")}}, {})), HasSubstr(" - 9000 PB no"));
}

/// A run on a GPU whose kernels take `slowness` times what the peaks allow.
ForgedTime on_gpu(const std::string& mode, const char* device, double slowness, std::int64_t id) {
  ForgedTime t(mode, id);
  t.forged.run.device = device;
  t.forged.run.device_kind = "cuda";
  t.forged.run.time_provenance = Provenance::measured;
  enlarge(t, 4000000, 500000);  // work that takes milliseconds
  const Gpu& known = *gpu_table().of_device(device);
  double step = 0.0;
  for (const PlannedLaunch& launch : planned_launches(time_parts::plan_of(t.forged.nodes, t.forged.tensors, t.forged.edges))) {
    const double s = slowness * *ideal_seconds(*work_on(launch, known), known);
    t.timed(launch.name, s);
    step += s;
  }
  for (int i = 0; i < 3; ++i) t.sample(step);
  return t;
}

TEST_F(ProjectionTest, MeasuredRunsAreProjectedFromTheOthers) {
  const ForgedTime a = on_gpu("fp32", "NVIDIA A100-SXM4-80GB", 1.6, 1), b = on_gpu("fp16", "NVIDIA A100-SXM4-80GB", 1.6, 2);
  const ForgedTime h = on_gpu("fp32", "NVIDIA H100 80GB HBM3", 1.6, 1), i = on_gpu("bf16", "NVIDIA H100 80GB HBM3", 1.6, 2);
  std::vector<std::string> left_out;
  const auto a100 = write_times(in("a100.ulp"), {&a, &b}), h100 = write_times(in("h100.ulp"), {&h, &i});
  std::vector<MeasuredRun> runs = measured_runs(a100, left_out);
  for (MeasuredRun& run : measured_runs(h100, left_out)) runs.push_back(std::move(run));
  ASSERT_THAT(runs, SizeIs(4));
  const std::vector<CheckedProjection> checked = check_projections(runs);
  ASSERT_THAT(checked, SizeIs(4));
  // All have the share 1 ÷ 1.6 in what limits them: where a kind has samples enough, the others say the time to a few percent.
  std::vector<const MeasuredRun*> all;
  for (const MeasuredRun& run : runs) all.push_back(&run);
  const Share memory = fitted(gpu("t4"), all).of(WorkClass::memory, WorkSize::large);
  EXPECT_GE(memory.samples, least_samples);
  EXPECT_NEAR(memory.spread.likely, 1 / 1.6, 1e-6);
  EXPECT_NEAR(*memory.error, 0.0, 1e-6);
  for (const CheckedProjection& c : checked) {
    ASSERT_TRUE(c.error) << c.gpu << c.mode;
    if (c.mode == "fp32") {
      // The one other fp32 product is too little to fit a share to: 0.8 is assumed, and the products come out 1 - 0.625 / 0.8 too fast.
      EXPECT_LT(*c.error, -0.1) << c.gpu;
      EXPECT_GE(*c.error, 1 / 1.6 / 0.8 - 1.0) << c.gpu;
    } else {
      EXPECT_NEAR(*c.error, 0.0, 1e-3) << c.gpu << ' ' << c.mode;
    }
  }
  // Which of the shares that carried the figure are fitted, and from how many launches.
  const ProjectionInput again{.modes = {{.mode = "fp16", .plan = runs[1].plan}}};
  const std::string carried = text_of(project(again, {{"t4", gpu("t4")}}, runs));
  EXPECT_THAT(carried, HasSubstr(" on 0.625 of the bandwidth in large launches (0.625…0.625, fitted to " + std::to_string(memory.samples) + " launches, error 0 %)")) << carried;
  Projection p{.checked = checked};
  std::ostringstream text;
  write_checked_text(p, text);
  EXPECT_THAT(text.str(), HasSubstr("greatest error"));
  // Its own times stand beside, where the file was made on the very GPU.
  ProjectionInput itself{.file = a100.path(), .modes = planned_modes(a100, {})};
  const Projection own = project(itself, {{"a100", gpu("a100")}, {"t4", gpu("t4")}}, runs);
  ASSERT_THAT(own.gpus[0].measured, SizeIs(2));
  EXPECT_EQ(own.gpus[0].measured[0].first, "fp32");
  EXPECT_DOUBLE_EQ(own.gpus[0].measured[0].second, *runs[0].step_seconds);
  EXPECT_THAT(own.gpus[1].measured, SizeIs(0));
  EXPECT_THAT(text_of(own), HasSubstr("what is measured goes before what is projected"));
  // A share that is twice too good shows as an error.
  MeasuredRun slow = runs.front();
  slow.step_seconds = 2.0 * *slow.step_seconds;
  runs.front() = slow;
  EXPECT_LT(*check_projections(runs).front().error, -0.3);
}

TEST_F(ProjectionTest, RunsOnACpuSayNothingOfAGpu) {
  ForgedTime cpu("fp32");
  cpu.timed("y", 1e-3);
  cpu.sample(1e-3);
  std::vector<std::string> left_out;
  EXPECT_THAT(measured_runs(write_times(in("cpu.ulp"), {&cpu}), left_out), SizeIs(0));
  EXPECT_THAT(left_out, Contains(HasSubstr("made on a CPU")));
  ForgedTime emulated("bf16");
  emulated.forged.run.device = "Tesla T4";
  emulated.forged.run.device_kind = "cuda";
  emulated.timed("y", 1e-3);
  emulated.sample(1e-3);
  left_out.clear();
  EXPECT_THAT(measured_runs(write_times(in("t4.ulp"), {&emulated}), left_out), SizeIs(0));
  EXPECT_THAT(left_out, Contains(HasSubstr("emulates")));
}

TEST_F(ProjectionTest, TheLaunchCostMakesTheLaunchesAddUp) {
  // Kernels of 1, 2 and 3 µs in a step of 15: each launch takes 5.
  ForgedTime t("fp32");
  t.forged.run.device = "NVIDIA H200";
  t.forged.run.device_kind = "cuda";
  t.forged.run.time_provenance = Provenance::measured;
  t.timed("y", 1e-6);
  t.timed("unscale_check", 2e-6);
  t.timed("w.update", 3e-6);
  t.sample(15e-6);
  std::vector<std::string> left_out;
  const auto runs = measured_runs(write_times(in("h200.ulp"), {&t}), left_out);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_NEAR(*runs[0].launch_seconds, 5e-6, 1e-9);
  const Attainable a = fitted(gpu("h200"), {&runs[0]});
  EXPECT_NEAR(a.launch.spread.likely, 5e-6, 1e-9);
  EXPECT_EQ(a.launch.samples, 1);
}

TEST_F(ProjectionTest, PlansComeFromARunFile) {
  const ForgedTime fp32("fp32", 1), fp16("fp16", 2);
  const auto reader = write_times(in("a.ulp"), {&fp32, &fp16});
  EXPECT_THAT(planned_modes(reader, {}), SizeIs(2));
  EXPECT_THAT(planned_modes(reader, {"fp16"}), SizeIs(1));
  EXPECT_THAT(message_of<UsageError>([&] { planned_modes(reader, {"bf16"}); }), HasSubstr("no run in mode bf16; it has fp32, fp16"));
}

// Every measured run that the tree holds, from the others.
TEST(MeasuredRuns, OfTheTree) {
  std::vector<MeasuredRun> runs;
  std::vector<std::string> left_out;
  const std::filesystem::path folder = std::string(ULPSCOPE_SOURCE_DIR) + "/tests/data/measured";
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".ulp")
        for (MeasuredRun& run : measured_runs(RunFileReader(entry.path().string()), left_out)) runs.push_back(std::move(run));
  if (runs.size() < 2) GTEST_SKIP() << "fewer than two measured runs in tests/data/measured";
  Projection p{.checked = check_projections(runs)};
  write_checked_text(p, std::cout);
  for (const CheckedProjection& c : p.checked) EXPECT_TRUE(c.error) << c.file << ' ' << c.mode;
}

}  // namespace
}  // namespace ulpscope::reports
