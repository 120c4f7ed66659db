// What run files that the test writes say of their modes, and how an advice is written.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "reports/analysis/advice.h"
#include "reports/export/exporter.h"
#include "reports/export/layout.h"
#include "tests/reports/advice_cases.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class AdviceEvidence : public Scratch {
 protected:
  using Modes = std::vector<ModeEvidence>;
  /// On a GPU of the table, projected from the plans of the file; or without one.
  Modes on(const RunFileReader& reader, const char* gpu = "", const std::vector<const RunFileReader*>& measured = {}) {
    input_ = {.reader = &reader, .measured = measured};
    notes_.clear();
    if (*gpu == '\0') return gather_evidence(input_, nullptr, notes_);
    input_.planned = planned_modes(reader, {});
    input_.projection = project({.file = reader.path(), .modes = input_.planned}, {{gpu, gpu_of_case(gpu)}}, {});
    return gather_evidence(input_, &input_.projection.gpus.front(), notes_);
  }
  static const ModeEvidence& of(const Modes& modes, const std::string& name) {
    for (const ModeEvidence& e : modes)
      if (e.mode == name) return e;
    throw Error("no mode " + name);
  }
  static std::vector<MadeUpRun> three_seeds(double offset) {
    std::vector<MadeUpRun> runs;
    for (std::int64_t seed = 0; seed < 3; ++seed) {
      const double loss = 1.9 + 0.1 * static_cast<double>(seed);
      runs.push_back(made_up("fp32", seed, loss));
      runs.push_back(made_up("bf16", seed, loss + offset));
    }
    return runs;
  }
  /// Every launch timed on this device, fp32 at 10 ms a step, fp16 at `ms`.
  static std::pair<ForgedTime, ForgedTime> on_gpu(const std::string& device, double ms) {
    ForgedTime fp32("fp32", 1), fp16("fp16", 2);
    for (ForgedTime* t : {&fp32, &fp16}) {
      t->forged.run.device = device;
      t->forged.run.device_kind = "cuda";
      t->forged.run.time_provenance = Provenance::measured;
      for (const char* node : {"y", "unscale_check", "w.update"}) t->timed(node, 1e-3);
    }
    for (const double s : {9.0, 10.0, 11.0}) fp32.sample(s * 1e-3);
    for (const double s : {0.9, 1.0, 1.1}) fp16.sample(s * ms * 1e-3);
    return {fp32, fp16};
  }
  AdviceInput input_{};
  std::vector<std::string> notes_{};
};

TEST_F(AdviceEvidence, LossIsHeldAgainstSeedNoiseAndTimesOfACpuAreNone) {
  std::vector<MadeUpRun> runs = three_seeds(0.001);
  for (MadeUpRun& run : runs) run.step_seconds = {run.run.mode == "fp32" ? 1.0 : 0.1};
  const RunFileReader reader = make_run_file(in("a.ulp"), runs);
  const Modes modes = on(reader);
  ASSERT_THAT(modes, SizeIs(2));
  const ModeEvidence& bf16 = of(modes, "bf16");
  EXPECT_EQ(bf16.verdict, Verdict::inside);
  EXPECT_EQ(bf16.pairs, 3);
  EXPECT_NEAR(*bf16.distance.value, 0.001, 1e-12);
  EXPECT_EQ(bf16.from, "3 of 3 seeds on Testium 9000");
  EXPECT_FALSE(bf16.measured.value) << "emulated";
  EXPECT_FALSE(of(modes, "fp32").measured.value) << "of a CPU";
  EXPECT_EQ(bf16.overflow.known, Known::unknown) << "nothing was observed";
  EXPECT_EQ(of(on(make_run_file(in("b.ulp"), three_seeds(0.5))), "bf16").verdict, Verdict::worse);
}

TEST_F(AdviceEvidence, RunsThatFailedOrDidNotEnd) {
  std::vector<MadeUpRun> runs = three_seeds(0.001);
  MadeUpRun fp16 = made_up("fp16", 0, nan_number);
  fp16.loss = [](std::int64_t step) { return step < 12 ? 2.0 : nan_number; };
  MadeUpRun tf32 = made_up("tf32", 0, 2.0);
  tf32.run.status = RunStatus::interrupted;
  tf32.steps = 7;
  runs.insert(runs.end(), {fp16, tf32});
  const Modes modes = on(make_run_file(in("a.ulp"), runs));
  EXPECT_THAT(of(modes, "fp16").diverged, HasSubstr("seed 0: diverged: the loss is not finite from step 13 on"));
  EXPECT_TRUE(of(modes, "fp16").trained) << "its end is its result";
  EXPECT_FALSE(of(modes, "tf32").trained);
  EXPECT_THAT(of(modes, "tf32").unfinished, HasSubstr("interrupted after 7 of 20 steps"));
  EXPECT_EQ(of(modes, "bf16").diverged, "");
}

TEST_F(AdviceEvidence, OverflowOfADiagnosisAndTheMendThatWasRun) {
  ForgedRun fp32("fp32", 1), fp16("fp16", 2), bf16("bf16", 3);
  for (ForgedRun* run : {&fp32, &fp16, &bf16}) run->small_model(run->run.mode);
  for (int i = 0; i < 3; ++i) {
    fp32.step();
    bf16.step();
    fp16.step(inf_number, true, 65536.0 / (1 << i));
  }
  bf16.observe(0, {});
  fp16.observe(0, {{"y", {.greatest = 66240.0, .overflowed = 1}}, {"loss", {.elements = 1, .positive_infinite = 1}}}, "replay");
  MendRecord mend{.id = MendId{1}, .run = RunId{2}, .kind = "keep_fp32", .change = "y stays fp32", .settings_json = R"({"ulpscope": "train.keep_fp32=y"})", .status = MendStatus::verified};
  mend.detail_json = R"({"targets": ["activation_too_large at y"]})";
  const RunFileReader reader = forge(in("a.ulp"), {&fp32, &fp16, &bf16}, {mend});
  Modes modes = on(reader);
  EXPECT_EQ(of(modes, "fp16").overflow.known, Known::found);
  EXPECT_EQ(of(modes, "fp16").overflow.provenance, Provenance::counted);
  EXPECT_THAT(of(modes, "fp16").overflow.words, AllOf(HasSubstr("y (linear, forward)"), HasSubstr("66240")));
  EXPECT_EQ(of(modes, "fp16").mend, "y stays fp32 (train.keep_fp32=y)");
  EXPECT_EQ(of(modes, "bf16").overflow.known, Known::clean);
  EXPECT_EQ(of(modes, "fp32").overflow.known, Known::unknown) << "not observed";
  // One that leaves another fault where it is mends nothing whole.
  mend.detail_json = R"({"remains": ["update_lost at w"]})";
  EXPECT_EQ(of(on(forge(in("b.ulp"), {&fp32, &fp16, &bf16}, {mend})), "fp16").mend, "");
}

TEST_F(AdviceEvidence, FlushedGradientsCountFromTheFirstOnWithoutAScaler) {
  for (const char* scaling : {"none", "fixed:1", "dynamic:pytorch"})
    for (const std::int64_t flushed : {0, 1, 90}) {
      ForgedRun fp16("fp16", 1);
      fp16.small_model();
      fp16.run.loss_scaling = scaling;
      fp16.step(1.0, false, std::string(scaling) == "none" ? Number() : Number(1.0));
      // A weight that would be moved by as little.
      fp16.observe(0, {{"w", {.greatest = 1e-5, .rms = 1e-5}}, {"y.cast", {.elements = 100, .greatest = 1e-6, .flushed = flushed, .least = 1e-9, .rms = 1e-7}}});
      const Modes modes = on(forge(in("a.ulp"), {&fp16}));
      const bool bare = !std::string(scaling).starts_with("dynamic");
      EXPECT_EQ(of(modes, "fp16").flushed.known == Known::found, flushed == 90 || (bare && flushed == 1)) << scaling << ' ' << flushed;
      EXPECT_EQ(of(modes, "fp16").scaled, !bare);
    }
}

TEST_F(AdviceEvidence, ALogThatDoesNotSayIsNotUnscaled) {
  ForgedRun fp16("fp16", 1);
  fp16.small_model();
  fp16.run.loss_scaling = "";
  fp16.step(1.0, false, Number());
  fp16.observe(0, {{"y.cast", {.elements = 100, .greatest = 1e-6, .flushed = 1, .least = 1e-9, .rms = 1e-7}}});
  const Modes modes = on(forge(in("a.ulp"), {&fp16}));
  EXPECT_FALSE(of(modes, "fp16").scaling_known);
  EXPECT_NE(of(modes, "fp16").flushed.known, Known::found) << "one gradient in 100, as with a scaler";
}

TEST_F(AdviceEvidence, TwoGpusAreToldTheSameOfTheFile) {
  const auto [fp32, fp16] = on_gpu("Tesla T4", 4.0);
  const RunFileReader t4 = write_times(in("t4.ulp"), {&fp32, &fp16});
  input_ = {.reader = &t4, .planned = planned_modes(t4, {})};
  input_.projection = project({.file = t4.path(), .modes = input_.planned}, {{"h100", gpu_of_case("H100 SXM")}, {"t4", gpu_of_case("T4")}}, {});
  const Advice both = advise(input_);
  ASSERT_THAT(both.devices, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    const Modes alone = gather_evidence(input_, &input_.projection.gpus[i], notes_);
    ASSERT_EQ(both.devices[i].modes.size(), alone.size());
    for (std::size_t k = 0; k < alone.size(); ++k) {
      const ModeEvidence& e = both.devices[i].modes[k].evidence;
      EXPECT_EQ(e.mode, alone[k].mode);
      EXPECT_EQ(e.from, alone[k].from);
      EXPECT_EQ(e.measured.value, alone[k].measured.value);
      EXPECT_EQ(e.measured.value.has_value(), i == 1) << "measured on T4, and on no other";
      EXPECT_EQ(e.plan_bytes, alone[k].plan_bytes);
    }
  }
}

// Recording goes on in recorded steps: beside a timing phase they would make a gain, or hide one.
TEST_F(AdviceEvidence, RecordedStepsAreNotHeldAgainstATimingPhase) {
  for (const bool both : {false, true}) {
    auto [fp32, fp16] = on_gpu("Tesla T4", 4.0);
    for (ForgedTime* t : {&fp32, &fp16}) {
      if (t == &fp32 && !both) continue;
      t->samples.clear();
      for (int i = 0; i < 20; ++i) {
        t->forged.step();
        t->forged.steps.back().wall_seconds = t == &fp32 ? 11e-3 : 4e-3;
      }
    }
    const RunFileReader t4 = write_times(in(both ? "both.ulp" : "one.ulp"), {&fp32, &fp16});
    const Modes here = on(t4, "T4");
    ASSERT_TRUE(of(here, "fp32").measured.value);
    EXPECT_EQ(of(here, "fp16").measured.value.has_value(), both) << "both of one kind can be held against each other";
    if (!both) {
      EXPECT_THAT(notes_, Contains(HasSubstr("fp16 has no timing phase, others have")));
    }
  }
}

TEST_F(AdviceEvidence, StepsOfThisVeryDeviceAreMeasured) {
  const auto [fp32, fp16] = on_gpu("Tesla T4", 4.0);
  const RunFileReader t4 = write_times(in("t4.ulp"), {&fp32, &fp16});
  const Modes here = on(t4, "T4");
  EXPECT_DOUBLE_EQ(*of(here, "fp16").measured.value, 4e-3);
  EXPECT_EQ(of(here, "fp16").measured.provenance, Provenance::measured);
  EXPECT_EQ(of(here, "fp16").projected.provenance, Provenance::projected);
  EXPECT_FALSE(of(on(t4, "A100 SXM 80GB"), "fp16").measured.value) << "another GPU";
  // From another file, where it is the same experiment.
  ForgedTime cpu_fp32("fp32", 1), cpu_fp16("fp16", 2);
  const RunFileReader cpu = write_times(in("cpu.ulp"), {&cpu_fp32, &cpu_fp16});
  EXPECT_FALSE(of(on(cpu, "T4"), "fp32").measured.value);
  EXPECT_DOUBLE_EQ(*of(on(cpu, "T4", {&t4}), "fp32").measured.value, 10e-3);
  auto [other32, other16] = on_gpu("Tesla T4", 4.0);
  for (ForgedTime* t : {&other32, &other16}) t->forged.run.batch = 77;
  const RunFileReader other = write_times(in("other.ulp"), {&other32, &other16});
  EXPECT_FALSE(of(on(cpu, "T4", {&other}), "fp32").measured.value);
  EXPECT_THAT(notes_, Contains(HasSubstr("another experiment (batch)")));
  // A mode that the device emulates has a time, and is no less emulated for it.
  auto [p100_32, p100_16] = on_gpu("Tesla P100-SXM2-16GB", 4.0);
  const RunFileReader p100 = write_times(in("p100.ulp"), {&p100_32, &p100_16});
  const Modes there = on(p100, "P100 SXM2");
  EXPECT_FALSE(of(there, "fp16").projected.value);
  EXPECT_THAT(of(there, "fp16").no_time, HasSubstr("emulated"));
}

TEST_F(AdviceEvidence, CastsOfThePlanAndACheckpointIn16Bits) {
  ForgedRun fp16("fp16", 1);
  fp16.source("base", TensorRole::input, "fp32", {64, 8});
  fp16.node("expand", "wide", {"base"}, "fp32", Phase::forward, {1024, 64, 8});
  fp16.node("cast", "wide.fp16", {"wide"}, "fp16", Phase::forward, {1024, 64, 8});
  fp16.nodes.back().bytes_written = 1024 * 64 * 8 * 2;
  fp16.run.attributes_json = R"({"weights": {"file": "t5.safetensors", "in_16_bits": 12, "widened": true}})";
  fp16.run.parameters = 1000;
  fp16.step();
  {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    writer.push(ExperimentRecord{.name = "forged"});
    fp16.write(writer);
    MemoryRecord row{.run = fp16.run.id, .kind = MemoryKind::predicted, .total_bytes = 2'000'000};
    row.bytes.fill(0);
    row.bytes[static_cast<std::size_t>(MemoryCategory::casts)] = 1'500'000;
    writer.push(row);
    writer.close();
  }
  const RunFileReader reader(in("a.ulp"));
  const Modes modes = on(reader, "T4");
  EXPECT_DOUBLE_EQ(*of(modes, "fp16").cast_share, 0.75);
  EXPECT_EQ(of(modes, "fp16").cast_words, "wide.fp16 writes 1.05 MB; cast before wide expands it: 1.02 kB");
  EXPECT_TRUE(of(modes, "fp16").weights_in_16_bits);
  EXPECT_EQ(of(modes, "fp16").weights_words, "t5.safetensors");
  EXPECT_EQ(of(modes, "fp16").memory.provenance, Provenance::projected);
  EXPECT_DOUBLE_EQ(*of(modes, "fp16").memory.value, 2e6 + 0.5e9) << "the plan, and the context's share";
  EXPECT_EQ(of(modes, "fp16").fits, Fits::yes);
}

TEST_F(AdviceEvidence, WhatWasNotRunIsForeseen) {
  const RunFileReader reader = make_run_file(in("a.ulp"), {made_up("fp32", 0, 2.0)});
  ModePrediction fp16{.mode = "fp16", .forecast = Forecast::overflow, .scaled = true}, bf16{.mode = "bf16"}, beside{.mode = "fp16_pure", .asked = false};
  fp16.foreseen.push_back({.kind = "activation_too_large", .gravity = Gravity::fatal, .what = "y has 66240 in fp32; no loss scale changes that. More", .overflow = true});
  input_ = {.reader = &reader, .predicted = Prediction{.modes = {fp16, bf16, beside}}};
  const Modes modes = gather_evidence(input_, nullptr, notes_);
  ASSERT_THAT(modes, SizeIs(3));
  EXPECT_EQ(of(modes, "fp16").overflow.known, Known::found);
  EXPECT_EQ(of(modes, "fp16").overflow.provenance, Provenance::projected);
  EXPECT_EQ(of(modes, "fp16").overflow.words, "y has 66240 in fp32; no loss scale changes that");
  EXPECT_EQ(of(modes, "bf16").overflow.known, Known::clean);
  EXPECT_EQ(of(modes, "bf16").overflow.provenance, Provenance::projected);
  EXPECT_FALSE(of(modes, "bf16").trained);
}

TEST_F(AdviceEvidence, SumsOfTheGenerationThatIsAskedAbout) {
  std::vector<MadeUpRun> runs = three_seeds(0.001);
  for (std::int64_t seed = 0; seed < 3; ++seed) {
    MadeUpRun hopper = made_up("bf16", seed, 2.5 + 0.1 * static_cast<double>(seed));
    hopper.run.attributes_json = R"({"sums": {"as": "hopper", "of_unit": 17}})";
    runs.push_back(hopper);
  }
  const RunFileReader reader = make_run_file(in("a.ulp"), runs);
  const auto verdict_on = [&](const char* name) {
    const GpuProjection there{.asked = name, .gpu = gpu_of_case(name)};
    input_ = {.reader = &reader};
    return of(gather_evidence(input_, &there, notes_), "bf16").verdict;
  };
  EXPECT_EQ(verdict_on("A100 SXM 80GB"), Verdict::inside);
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_EQ(verdict_on("H100 SXM"), Verdict::worse);
  EXPECT_THAT(notes_, Contains(HasSubstr("the sums of hopper's matrix units, emulated")));
}

TEST_F(AdviceEvidence, TheAdviceInEveryForm) {
  auto [fp32, fp16] = on_gpu("Tesla T4", 4.0);
  const RunFileReader reader = write_times(in("t4.ulp"), {&fp32, &fp16});
  on(reader, "T4");
  const Advice advice = advise(input_);
  const DeviceAdvice& t4 = advice.devices.at(0);
  EXPECT_EQ(t4.outcome, AdviceOutcome::undecided) << "one seed, and no loss of it";
  EXPECT_EQ(t4.winner, "fp16");
  const auto form = [&](const char* name) {
    std::ostringstream out;
    make_exporter(name)->write(advice, out);
    return out.str();
  };
  const std::string text = form("text");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_LT(text.find("T4: undecided"), text.find("evidence ")) << "the answer first";
  EXPECT_LT(text.find("evidence "), text.find("settings of fp16"));
  EXPECT_THAT(text, AllOf(HasSubstr("× fp32's speed               1.00           2.50"), HasSubstr("from steps             measured       measured"), HasSubstr("4 ms"), HasSubstr("GradScaler"), HasSubstr("would decide")));
  const auto json = nlohmann::json::parse(form("json"));
  EXPECT_EQ(json["kind"], "ulpscope advice");
  const auto& device = json["devices"][0];
  EXPECT_EQ(device["winner"], "fp16");
  EXPECT_EQ(device["outcome"], "undecided");
  EXPECT_EQ(device["reason"], t4.reason);
  EXPECT_EQ(device["modes"][1]["measured_step_seconds"]["value"], 4e-3);
  EXPECT_EQ(device["modes"][1]["speed_against_fp32"]["provenance"], "measured");
  EXPECT_EQ(device["settings"]["hugging_face"], "fp16=True, bf16=False");
  const std::string csv = form("csv");
  EXPECT_THAT(csv, HasSubstr("gpu,mode,section,key,value,low,high,unit,provenance,text\r\n"));
  EXPECT_THAT(csv, ::testing::ContainsRegex("T4,fp16,evidence,measured_step_seconds,0.004,0.0038[0-9]*,0.0042[0-9]*,s/step,measured,\r\n"));
  EXPECT_THAT(csv, HasSubstr("T4,fp16,answer,outcome,,,,,,undecided\r\n"));
  for (const char* key : {"steps", "skipped", "seeds_under_both", "largest_batch", "loss_scaler", "no_scale", "launch_share", "cast_share"}) EXPECT_THAT(csv, HasSubstr(std::string("T4,fp16,evidence,") + key + ",")) << key;
  Advice harmed = advice;
  ModeEvidence& e = harmed.devices[0].modes[1].evidence;
  e.diverged = "seed 1: diverged at step 37";
  e.steps = {.value = 600, .provenance = Provenance::counted};
  e.pairs = 2;
  e.largest_batch = 96;
  e.batch_capped = true;
  std::ostringstream out;
  make_exporter("csv")->write(harmed, out);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("T4,fp16,evidence,steps,600,,,steps,counted,\r\n"), HasSubstr("T4,fp16,evidence,seeds_under_both,2,,,seeds,counted,\r\n"), HasSubstr("T4,fp16,evidence,diverged,,,,,,seed 1: diverged at step 37\r\n"),
                               HasSubstr("T4,fp16,evidence,largest_batch,96,,,samples,projected,at least\r\n")));
}

TEST_F(AdviceEvidence, WithoutAGpuItSaysWhichThereAre) {
  const RunFileReader reader = make_run_file(in("a.ulp"), three_seeds(0.001));
  const Advice advice = advise({.reader = &reader});
  std::ostringstream out;
  make_exporter("text")->write(advice, out);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("no GPU named: undecided"), HasSubstr("fp32, bf16 can be used"), HasSubstr("V100 SXM2 16GB"), Not(HasSubstr("settings of")), Not(HasSubstr("a step"))));
  RunFileWriter(in("empty.ulp"), {.overwrite = true}).close();
  const RunFileReader empty(in("empty.ulp"));
  EXPECT_THAT(message_of<UsageError>([&] { advise({.reader = &empty}); }), HasSubstr("there is no run in"));
}

}  // namespace
}  // namespace ulpscope::reports
