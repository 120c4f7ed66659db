// Training logs of other programs, imported as one types it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/import/input.h"
#include "profiler/import/training_log.h"
#include "tests/profiler/import_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using reports::Number;

using ImportLog = ImportFixture;

/// NaN equals NaN.
bool same(const Number& a, const Number& b) { return a.has_value() == b.has_value() && (!a || *a == *b || (std::isnan(*a) && std::isnan(*b))); }

TEST_F(ImportLog, CsvWithAColumnForEverything) {
  const Answer answer = import(file("log.csv",
                                    "step,loss,loss scale,grad_norm,skipped,lr,gpu\n"
                                    "0,10.5,65536,inf,1,1e-3,a\n"
                                    "1,10.25,32768,2.5,0,1e-3,\"a,b\"\n"
                                    "2,nan,32768,NaN,false,2e-3,a\n"
                                    "3,-Infinity,32768,0.5,no,,a\n"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].step, 0);
  EXPECT_TRUE(rows[0].skipped);
  EXPECT_FALSE(rows[0].finite);
  EXPECT_TRUE(same(rows[0].gradient_norm, HUGE_VAL));
  EXPECT_TRUE(same(rows[0].loss_scale, 65536.0));
  EXPECT_EQ(rows[0].applied, 0);
  EXPECT_TRUE(same(rows[2].loss, NAN));
  EXPECT_FALSE(rows[2].finite);
  EXPECT_FALSE(rows[2].skipped);
  EXPECT_TRUE(same(rows[3].loss, -HUGE_VAL));
  EXPECT_FALSE(rows[3].learning_rate.has_value());
  EXPECT_EQ(rows[3].applied, 3);
  EXPECT_EQ(run().mode, "fp16");
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("CSV: 4 entries, 4 steps"), HasSubstr("fp16 (inferred"), HasSubstr("not read: column gpu: 4"), HasSubstr("from 0")));
  // The scale fell after the first step.
  const auto events = reports::RunFileReader(in("run.ulp")).events(reports::RunId{1});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, "skip");
  EXPECT_EQ(events[1].kind, "scale_change");
  EXPECT_TRUE(same(events[1].value, 32768.0));
}

TEST_F(ImportLog, ColumnsAreMappedAndCountFromOne) {
  const std::string log = file("log.csv", "n;a;b\n10;1.5;9\n20;1.25;8\n");
  expect_refused(log, "no column of the heading is known (n, a, b)");
  const Answer answer = import(log, {"--column", "loss=a,step=n", "--column", "held_out_loss=b", "--mode", "bf16", "--seed", "3"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].step, 9);
  EXPECT_EQ(rows[1].step, 19);
  EXPECT_TRUE(same(rows[1].loss, 1.25));
  EXPECT_EQ(run().mode, "bf16");
  EXPECT_EQ(run().seed, 3);
  EXPECT_EQ(run().loss_scaling, "unknown");
  const auto held_out = reports::RunFileReader(in("run.ulp")).evaluations(reports::RunId{1});
  ASSERT_EQ(held_out.size(), 2u);
  EXPECT_EQ(held_out[1].step, 20);
  EXPECT_TRUE(same(held_out[1].loss, 8.0));
  expect_refused(log, "--column loss=c: ", {"--column", "loss=c"});
  expect_refused(log, "--column los=a: there is no \"los\"; it takes step, loss", {"--column", "los=a"});
  expect_refused(log, "--column loss: the name that the log has for it is missing", {"--column", "loss"});
}

TEST_F(ImportLog, CsvThatIsDamagedSaysWhere) {
  expect_refused(file("a.csv", "step,loss\n1,0.5\n2,abc\n"), "a.csv: line 3: loss \"abc\" is no number");
  expect_refused(file("b.csv", "step,loss\n1,0.5\n2,0.5,1\n"), "b.csv: line 3: 3 columns, and the heading has 2");
  expect_refused(file("c.csv", "step,loss\n1.5,0.5\n"), "line 2: step \"1.5\" is no number of a step");
  expect_refused(file("d.csv", "step,loss,skipped\n1,0.5,2\n"), "line 2: skipped \"2\" is neither 0 nor 1");
  expect_refused(file("e.csv", "step,loss,loss_scale\n1,0.5,-2\n"), "line 2: loss_scale \"-2\" is less than 0");
  expect_refused(file("f.csv", "step,loss\n"), "no step is in it");
  expect_refused(file("g.csv", ""), "nothing is in it");
  expect_refused(file("h.csv", std::string("step,loss\n1,\0\n", 13)), "no text");
  expect_refused(in("absent.csv"), "absent.csv: No such file");
  expect_refused(folder_, "that is a folder");
  // A program that was ended while it wrote: the line is left out, and said to be.
  const Answer answer = import(file("i.csv", "step,loss,scale\n1,0.5,8\n2,0."));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(steps().size(), 1u);
  EXPECT_THAT(flat(answer.out), HasSubstr("the last line: 1 (it is cut off: left out)"));
}

TEST_F(ImportLog, JsonLinesWithWordsForWhatIsNotFinite) {
  const Answer answer = import(file("log.jsonl",
                                    "{\"step\": 1, \"loss\": NaN, \"grad_norm\": Infinity, \"note\": \"NaN is -Infinity\"}\n\n"
                                    "{\"step\": 2, \"loss\": \"nan\", \"grad_norm\": 1}\r\n"
                                    "{\"step\": 2, \"loss\": -Infinity, \"grad_norm\": null, \"extra\": {\"deep\": [1, {\"x\": NaN}]}}\n"
                                    "{\"step\": 3, \"lo"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(same(rows[0].loss, NAN));
  EXPECT_TRUE(same(rows[0].gradient_norm, HUGE_VAL));
  EXPECT_TRUE(same(rows[1].loss, -HUGE_VAL));   // the later row counts
  EXPECT_TRUE(same(rows[1].gradient_norm, 1.0));
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("a step that was there before: 1"), HasSubstr("cut off"), HasSubstr("not read: column note: 1")));
  expect_refused(file("a.jsonl", "{\"step\": 1, \"loss\": 2}\nwhat\n{\"step\": 3, \"loss\": 2}\n"), "a.jsonl: line 2: no JSON object");
  expect_refused(file("b.jsonl", "{\"step\": 1, \"loss\": [1]}\n"), "line 1: loss \"[…]\" is no number but a list");
  expect_refused(file("c.jsonl", "{\"step\": 1, \"loss\": true}\n"), "line 1: loss \"true\" is no number");
}

const char* const trainer_state =
    "{\n  \"best_metric\": null,\n  \"epoch\": 1.0,\n  \"global_step\": 30,\n  \"log_history\": [\n"
    "    {\"epoch\": 0.3, \"grad_norm\": 1.5, \"learning_rate\": 5e-05, \"loss\": 2.5, \"step\": 10},\n"
    "    {\"epoch\": 0.6, \"grad_norm\": 1.25, \"learning_rate\": 4e-05, \"loss\": 2.25, \"step\": 20},\n"
    "    {\"epoch\": 0.6, \"eval_loss\": 2.4, \"eval_runtime\": 3.0, \"step\": 20},\n"
    "    {\"epoch\": 1.0, \"grad_norm\": NaN, \"learning_rate\": 3e-05, \"loss\": 0.0, \"step\": 30},\n"
    "    {\"epoch\": 1.0, \"step\": 30, \"total_flos\": 1.0, \"train_loss\": 1.6, \"train_runtime\": 9.0}\n"
    "  ],\n  \"max_steps\": 40,\n  \"stateful_callbacks\": {\"TrainerControl\": {\"args\": {\"log_history\": 1}}}\n}\n";

TEST_F(ImportLog, HistoryOfATrainer) {
  const Answer answer = import(file("trainer_state.json", trainer_state));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].step, 9);
  EXPECT_TRUE(same(rows[1].learning_rate, 4e-05));
  EXPECT_TRUE(same(rows[2].gradient_norm, NAN));
  EXPECT_TRUE(same(rows[2].loss, NAN));   // the log says 0, as this trainer does
  EXPECT_FALSE(rows[2].finite);
  const auto held_out = reports::RunFileReader(in("run.ulp")).evaluations(reports::RunId{1});
  ASSERT_EQ(held_out.size(), 1u);
  EXPECT_EQ(held_out[0].step, 20);
  EXPECT_EQ(run().mode, "unknown");
  EXPECT_EQ(run().status, reports::RunStatus::interrupted);
  EXPECT_THAT(run().message, HasSubstr("30 of 40"));
  // The loss of 0 is no loss: this trainer writes it where the loss is NaN.
  EXPECT_THAT(diagnosis(), AllOf(HasSubstr("unknown seed 0: fatal (unknown), step 30: the loss is not finite in the last 1 row"), HasSubstr("1 loss of 0 beside a gradient norm that is not finite is read as NaN"), HasSubstr("unknown, for a log cannot say it")));
  EXPECT_THAT(flat(ulpscope({"compare", in("run.ulp")}).out), AllOf(HasSubstr("another program; imported by ulpscope"), HasSubstr("training log imported from"), Not(HasSubstr("Recorded by ulpscope"))));
  // Alone, and packed.
  const std::string text = trainer_state;
  const std::string history = text.substr(text.find("[\n"), text.find("],\n") + 1 - text.find("[\n"));
  ASSERT_EQ(import(gzip("history.json.gz", history)).code, 0);
  EXPECT_EQ(steps().size(), 3u);
}

TEST_F(ImportLog, HistoryThatIsCutOffSaysTheByte) {
  const std::string text = trainer_state;
  for (const std::size_t kept : {std::size_t{120}, std::size_t{300}, text.size() - 3})
    expect_refused(file("cut.json", text.substr(0, kept)), "cut.json: byte " + std::to_string(kept + 1) + ": the JSON ends before it is complete");
  expect_refused(gzip("cut.json.gz", text, 0.6), "the compressed data end early, at byte");
  std::string damaged = text;
  damaged.replace(damaged.find("2.25"), 4, "2..5");
  expect_refused(file("bad.json", damaged), "bad.json: byte " + std::to_string(damaged.find("2..5") + 3));
  expect_refused(file("empty.json", "{\n \"global_step\": 3,\n \"other\": []\n}\n"), "there is no log_history in it");
  expect_refused(file("stray.json", "{\n \"log_history\": [3]\n}\n"), "entry 1 of log_history is no object");
}

TEST_F(ImportLog, PrintedDictionariesAndOverflowLines) {
  const std::string log = file("train.log",
                               "some words\n"
                               "  0%|          | 0/30 [00:00<?, ?it/s][2023-01-01 00:00:00,1] [INFO] [stage3.py:1834:_overflow_clean_up] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 65536\n"
                               "[2023-01-01] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768.0\n"
                               "[2023-01-01] [deepspeed] OVERFLOW! Rank 1 Skipping step. Attempted loss scale: 65536, reducing to 32768.0\n"
                               "{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.1}\r 40%|###  | 12/30 [00:01<00:02]\r\n"
                               "{'eval_loss': 2.25, 'eval_runtime': 3.0, 'epoch': 0.1}\n"
                               "[loss_scaler] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32768, but hysteresis is 2. Reducing hysteresis to 1\n"
                               "{'loss': '1.5', 'grad_norm': 'nan', 'learning_rate': '4e-05', 'epoch': '0.2'}\n"
                               "{'model': 'gpt', 'layers': 3}\n"
                               "{'train_runtime': 9.0, 'train_loss': 2.0, 'epoch': 1.0}\n");
  const Answer answer = import(log);
  ASSERT_EQ(answer.code, 0) << answer.err;
  auto rows = steps();
  ASSERT_EQ(rows.size(), 5u);   // by their order: nothing numbers them
  EXPECT_TRUE(rows[0].skipped && rows[1].skipped && rows[3].skipped && !rows[2].skipped && !rows[4].skipped);
  EXPECT_TRUE(same(rows[1].loss_scale, 65536.0));
  EXPECT_TRUE(same(rows[2].loss, 2.5));
  EXPECT_TRUE(same(rows[3].loss_scale, 32768.0));
  EXPECT_TRUE(same(rows[4].gradient_norm, NAN));
  const reports::RunFileReader reader(in("run.ulp"));
  EXPECT_EQ(reader.evaluations(reports::RunId{1}).at(0).step, 3);
  std::int64_t changes = 0;
  for (const auto& event : reader.events(reports::RunId{1})) changes += event.kind == "scale_change" ? 1 : 0;
  EXPECT_EQ(changes, 1);   // hysteresis changes none
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("printed log of Hugging Face's Trainer and DeepSpeed: 6 entries, 5 steps"), HasSubstr("does not number them"), HasSubstr("lines of other ranks: 1")));
  EXPECT_EQ(run().loss_scaling, "dynamic:deepspeed");
  EXPECT_THAT(diagnosis(), HasSubstr("entries are counted"));

  ASSERT_EQ(import(log, {"--every", "10"}).code, 0);
  rows = steps();
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[2].step, 9);
  EXPECT_EQ(rows[3].step, 10);
  EXPECT_EQ(rows[4].step, 19);
  EXPECT_EQ(reports::RunFileReader(in("run.ulp")).evaluations(reports::RunId{1}).at(0).step, 10);
  expect_refused(log, "--every 1: ", {"--every", "1"});   // two skips before the first entry do not fit
  expect_refused(log, "--every 0", {"--every", "0"});
  expect_refused(log, "from 1 to 1000000000", {"--every", "9223372036854775807"});
  expect_refused(file("words.log", "one\ntwo\n"), "nothing in it is a training log that is known (2 lines read)");
}

TEST_F(ImportLog, StepsAndSkipsThatDeepSpeedCounts) {
  const std::string skip = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, reducing to 4\n", entry = "{'loss': 3.0, 'grad_norm': 2.0}\n";
  const auto told = [](int skips) { return fmt::format("[2025-03-01] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped={}, lr=[0.0001], mom=[(0.9, 0.999)]\n", skips); };
  const Answer whole = import(file("ds.log", skip + told(1) + entry));
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(flat(whole.out), AllOf(HasSubstr("1 of the first 10 steps skipped, as DeepSpeed counts; the lines before it say as many"), Not(HasSubstr("other lines"))));
  EXPECT_EQ(steps().size(), 2u) << "it numbers no other row";
  EXPECT_THAT(flat(import(file("ds.log", skip + told(4) + entry)).out), HasSubstr("4 of the first 10 steps skipped, as DeepSpeed counts; the lines before it say 1: the others are not in this log"));
}

TEST_F(ImportLog, AScaleThatIsWrittenAfterItsStep) {
  const auto skipped = [&](const std::string& rows) {
    EXPECT_EQ(import(file("log.csv", "step,loss,scale,grad_norm\n" + rows)).code, 0);
    std::string text;
    for (const auto& row : steps()) text += row.skipped ? 'x' : '.';
    return text;
  };
  EXPECT_EQ(skipped("1,2,8,1\n2,2,4,inf\n3,2,2,inf\n4,2,2,1\n"), ".xx.") << "the row that is not finite has the lower scale";
  EXPECT_EQ(skipped("1,2,8,1\n2,2,8,inf\n3,2,4,inf\n4,2,2,1\n"), ".xx.") << "it has the scale of its step";
  EXPECT_EQ(skipped("1,2,8,1\n2,nan,4,1\n3,2,4,1\n"), ".x.");
  EXPECT_EQ(skipped("1,2,8,1\n2,2,4,1\n3,2,4,1\n"), "x..") << "nothing says which";
}

// Lines as training_log() of Megatron-LM writes them; the numbers are made up.
TEST_F(ImportLog, LinesOfMegatron) {
  const auto line = [](int step, const char* loss, const char* scale, const char* norm, int skipped, int nan) {
    return fmt::format(" [2024-10-16 04:23:00] iteration {:8d}/{:8d} | consumed samples: {:12d} | elapsed time per iteration (ms): 350.0 | learning rate: 1.000E-04 | global batch size: 4 |{}{} loss scale: {} |{}{} number of skipped iterations: {:3d} | number of nan iterations: {:3d} |\n",
                       step, 500, 4 * step, *loss == '\0' ? "" : " lm loss: ", *loss == '\0' ? "" : fmt::format("{} |", loss), scale, *norm == '\0' ? "" : " grad norm: ", *norm == '\0' ? "" : fmt::format("{} |", norm), skipped, nan);
  };
  // A line for each step: the scale is the one after it.
  const std::string each = "using world size: 1, data-parallel-size: 1\n" + line(1, "", "65536.0", "", 1, 0) + line(2, "", "32768.0", "", 1, 1) + line(3, "1.005022E+01", "32768.0", "217.199", 0, 0) +
                           line(4, "9.500000E+00", "65536.0", "3.5", 0, 0) + " validation loss at iteration 4 | lm loss value: 9.25E+00 | lm loss PPL: 1.04E+04 | \n" + line(5, "", "65536.0", "nan", 0, 0);
  Answer answer = import(file("train.log", each));
  ASSERT_EQ(answer.code, 0) << answer.err;
  auto rows = steps();
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_TRUE(rows[0].skipped && rows[1].skipped && !rows[2].skipped && !rows[4].skipped);
  EXPECT_FALSE(rows[0].loss_scale.has_value()) << "before the first step it is not on record";
  EXPECT_TRUE(same(rows[1].loss_scale, 65536.0));
  EXPECT_TRUE(same(rows[1].loss, NAN)) << "a nan iteration";
  EXPECT_FALSE(rows[0].loss.has_value());
  EXPECT_TRUE(same(rows[2].loss_scale, 32768.0));
  EXPECT_TRUE(same(rows[2].loss, 10.05022));
  EXPECT_TRUE(same(rows[2].gradient_norm, 217.199));
  EXPECT_TRUE(same(rows[3].learning_rate, 1e-4));
  EXPECT_TRUE(same(rows[4].loss, NAN)) << "applied, and without a loss";
  EXPECT_FALSE(rows[4].finite);
  EXPECT_EQ(run().mode, "fp16");
  EXPECT_EQ(run().loss_scaling, "dynamic:megatron");
  EXPECT_EQ(run().status, reports::RunStatus::interrupted);
  EXPECT_THAT(run().message, HasSubstr("5 of 500"));
  {
    const reports::RunFileReader reader(in("run.ulp"));
    EXPECT_EQ(reader.evaluations(reports::RunId{1}).at(0).step, 4);
    EXPECT_TRUE(same(reader.evaluations(reports::RunId{1}).at(0).loss, 9.25));
    std::vector<std::int64_t> changes;
    for (const auto& event : reader.events(reports::RunId{1}))
      if (event.kind == "scale_change") changes.push_back(event.step);
    EXPECT_THAT(changes, ElementsAre(1, 3));
  }
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("printed log of Megatron-LM: 6 entries, 5 steps"), HasSubstr("read as NaN: 1 (inferred"), HasSubstr("not read: column consumed samples: 5"), HasSubstr("other lines: 1")));

  // A line every 10 steps; the first after the search for the scale. bf16 says a scale of 1.
  answer = import(file("ten.log", line(10, "", "8388608.0", "", 10, 0) + line(20, "1.0E+01", "32768.0", "2.0", 8, 0) + line(30, "9.0E+00", "32768.0", "1.0", 0, 0)));
  ASSERT_EQ(answer.code, 0) << answer.err;
  rows = steps();
  ASSERT_EQ(rows.size(), 20u);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.skipped; }), 18);
  EXPECT_EQ(rows[9].step, 9);
  EXPECT_TRUE(rows[9].skipped);
  EXPECT_TRUE(same(rows[10].loss_scale, 8388608.0)) << "what the entry before ended with";
  EXPECT_FALSE(rows[11].loss_scale.has_value());
  EXPECT_EQ(rows[17].step, 17);
  EXPECT_TRUE(rows[17].skipped);
  EXPECT_EQ(rows[18].step, 19);
  EXPECT_FALSE(rows[18].skipped);
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("which steps of an entry were skipped is not said: its first ones stand for them (8 in all)"), HasSubstr("its loss is the mean of those that were applied")));
  ASSERT_EQ(import(file("bf16.log", line(1, "1.0E+01", "1.0", "2.0", 0, 0) + line(2, "9.0E+00", "1.0", "2.0", 0, 0))).code, 0);
  EXPECT_EQ(run().mode, "unknown");
  EXPECT_EQ(run().loss_scaling, "unknown");
  // Cut off, damaged, and not to be believed.
  const std::string cut = line(1, "1.0E+01", "1.0", "2.0", 0, 0) + line(2, "9.0E+00", "1.0", "2.0", 0, 0);
  answer = import(file("cut.log", cut.substr(0, cut.size() - 80)));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(steps().size(), 1u);
  EXPECT_THAT(flat(answer.out), HasSubstr("the last line: 1 (it is cut off: left out)"));
  expect_refused(file("bad.log", line(1, "abc", "1.0", "2.0", 0, 0)), "bad.log: line 1: loss \"abc\" is no number");
  expect_refused(file("many.log", line(400000000, "1.0", "1.0", "2.0", 300000000, 0)), "300000000 more skipped iterations: more than 2000000 in all are not believed");
}

TEST_F(ImportLog, ANormOfMinusOneIsNotFinite) {
  const Answer answer = import(file("log.csv", "step,loss,grad_norm\n1,2,1\n2,2,-1\n3,2,-1.0\n"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(same(rows[0].gradient_norm, 1.0));
  EXPECT_TRUE(same(rows[1].gradient_norm, NAN));
  EXPECT_FALSE(rows[2].finite);
  EXPECT_THAT(flat(answer.out), HasSubstr("gradient norms of -1 read as not finite: 2 (inferred"));
  expect_refused(file("log.csv", "step,loss,grad_norm\n1,2,-2\n"), "gradient_norm \"-2\" is less than 0");
}

TEST_F(ImportLog, ARowWithoutAStepLeavesTheOthersTheirNumbers) {
  const Answer answer = import(file("log.jsonl", "{\"step\": 10, \"loss\": 3}\n{\"loss\": 9, \"skipped\": true}\n{\"step\": 20, \"loss\": 2}\n"));
  ASSERT_EQ(answer.code, 0) << answer.err;
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].step, 9);
  EXPECT_EQ(rows[1].step, 19);
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("rows without a step: 1 (left out"), HasSubstr("1 of them say that a step was skipped"), Not(HasSubstr("does not number"))));
}

TEST_F(ImportLog, FilesOfOthersBesideItsOwnStay) {
  const std::string log = file("log.csv", "step,loss\n1,2\n2,1\n");
  ASSERT_EQ(import(log).code, 0);
  file("run.ulp-wal", "a log that a kill left");
  ASSERT_EQ(import(log).code, 0);
  EXPECT_EQ(steps().size(), 2u);
  EXPECT_NE(read(in("run.ulp-wal")), "a log that a kill left");
  file("run.ulp.part", "my own notes, not a run file");
  expect_refused(log, "is not a run file");
  EXPECT_EQ(read(in("run.ulp.part")), "my own notes, not a run file");
}

TEST_F(ImportLog, AByteOrderMarkIsNoPartOfALog) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const char* log : {"step,loss\n7,2.5\n", "{\"step\": 7, \"loss\": 2.5}\n", "[{\"step\": 7, \"loss\": 2.5}]"}) {
    ASSERT_EQ(import(file("log.txt", mark + log)).code, 0) << log;
    const auto rows = steps();
    ASSERT_EQ(rows.size(), 1u) << log;
    EXPECT_EQ(rows[0].step, 6) << log;   // logs count from one
    EXPECT_EQ(rows[0].loss, 2.5) << log;
  }
  ASSERT_EQ(import(gzip("log.gz", mark + "step,loss\n7,2.5\n")).code, 0);
  EXPECT_EQ(steps().at(0).loss, 2.5);
}

TEST_F(ImportLog, ARunFileOfItsOwnNameIsNotWrittenOver) {
  const std::string log = file("log.ulp", "step,loss\n1,2\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(in(""));
  const Answer answer = ulpscope({"import", log});
  std::filesystem::current_path(before);
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("log.ulp: the run file would have its name; give another with -o"));
  EXPECT_EQ(read(log), "step,loss\n1,2\n");
}

TEST_F(ImportLog, NothingOfTheObjectBeforeIsRead) {
  JsonObject object;
  ASSERT_TRUE(parse_json_line(R"({"a": [1, 2, 3], "b": 1.5})", object));
  ASSERT_EQ(object.find("a")->numbers.size(), 3u);
  ASSERT_TRUE(parse_json_line(R"({"a": 4, "b": NaN})", object));
  EXPECT_TRUE(object.find("a")->numbers.empty());
  EXPECT_EQ(object.find("b")->text, "");
}

TEST_F(ImportLog, NumbersAsLogsWriteThem) {
  EXPECT_EQ(log_number("1e-3"), 1e-3);
  EXPECT_EQ(log_number(" +2.5 "), 2.5);
  EXPECT_EQ(log_number("-0"), 0.0);
  EXPECT_EQ(log_number("1e999"), HUGE_VAL);
  EXPECT_EQ(log_number("-1e999"), -HUGE_VAL);
  EXPECT_EQ(log_number("1e-999"), 0.0);
  EXPECT_TRUE(std::isnan(*log_number("NaN")));
  EXPECT_EQ(log_number("-inf"), -HUGE_VAL);
  for (const char* none : {"", "-", "nano", "0x10", "1,5", "1.5f", "e5", "infinite", "--1"}) EXPECT_FALSE(log_number(none)) << none;
}

TEST_F(ImportLog, LinesEndAsTheyLike) {
  Input input("text", "one\r\ntwo\rthree\n\nfive");
  std::string line;
  std::vector<std::string> lines;
  std::vector<std::int64_t> numbers;
  bool whole = false;
  while (input.line(line, &whole)) {
    lines.push_back(line);
    numbers.push_back(input.line_number());
  }
  EXPECT_THAT(lines, ElementsAre("one", "two", "three", "", "five"));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 2, 3, 4));   // a progress bar begins no line of the file
  EXPECT_FALSE(whole);
}

}  // namespace
}  // namespace ulpscope::profiler
