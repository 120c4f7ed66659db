// The section of mends, and its forms.
#include "reports/analysis/mends.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/export/exporter.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MendsTest : public Scratch {
 protected:
  /// A run of fp16 with these mends.
  Mends written(const std::vector<MendRecord>& records) {
    make_run_file(in("a.ulp"), {made_up("fp32", 0, 2.0), made_up("fp16", 0, 2.0)});
    RunFileWriter writer(in("a.ulp"), {.append = true});
    for (const MendRecord& record : records) writer.push(record);
    writer.close();
    return mends(RunFileReader(in("a.ulp")));
  }
  static MendRecord record(std::int64_t id, const std::string& kind, MendStatus status, const std::string& detail) {
    MendRecord r{.id = MendId{id}, .run = RunId{2}, .kind = kind, .change = "change " + kind, .status = status};
    r.detail_json = detail;
    return r;
  }
  static std::string form(const char* name, const Mends& section) {
    std::ostringstream out;
    make_exporter(name)->write(section, out);
    return out.str();
  }
};

TEST_F(MendsTest, ReadsWhatWasTried) {
  MendRecord kept = record(1, "keep_fp32", MendStatus::verified,
                           R"({"cost":2,"faults":["activation_too_large at a"],"baseline":"run again","targets":["activation_too_large at a"],"why":"gone","runs":4,
                               "nodes":["a","b"],"minimal":true,"without":[{"node":"a","outcome":"it returns"},{"node":"b","outcome":"it returns, too"}]})");
  kept.time_ratio = 1.25;
  kept.time_provenance = Provenance::emulated;
  kept.memory_delta_bytes = 256;
  kept.settings_json = R"x({"ulpscope":"train.keep_fp32=a,b","frameworks":"PyTorch: .float()"})x";
  kept.how_run = "from the start";
  const Mends section = written({kept, record(2, "bf16", MendStatus::refuted, R"({"why":"it stays","remains":["update_lost at w"]})"), record(3, "scale", MendStatus::not_tried, "nonsense")});
  ASSERT_EQ(section.runs.size(), 1u);
  const MendsOfRun& run = section.runs[0];
  EXPECT_EQ(run.run.mode, "fp16");
  EXPECT_EQ(run.verified + 10 * run.refuted + 100 * run.not_tried, 111);
  EXPECT_EQ(run.verdict, "mended by: change keep_fp32");
  EXPECT_THAT(run.faults, ElementsAre("activation_too_large at a"));
  EXPECT_THAT(run.trials[0].nodes, ElementsAre("a", "b"));
  EXPECT_TRUE(run.trials[0].minimal);

  const std::string text = form("text", section);
  for (const char* words : {"fp16 seed 0: mended by: change keep_fp32", "without b: it returns, too", "step time x 1.25 [emulated], memory +256 bytes [counted]",
                            "train.keep_fp32=a,b", "not tried", "none can be left out: without any of them the run is not mended,"})
    EXPECT_THAT(text, HasSubstr(words));
  const auto json = nlohmann::json::parse(form("json", section));
  EXPECT_EQ(json["kind"], "ulpscope mends");
  const auto& mend = json["runs"][0]["mends"][0];
  EXPECT_EQ(mend["status"], "verified");
  EXPECT_EQ(mend["nodes"], (nlohmann::json{"a", "b"}));
  EXPECT_EQ(mend["step_time_ratio"], 1.25);
  EXPECT_EQ(mend["memory_delta_bytes"], 256);
  EXPECT_EQ(json["runs"][0]["mends"][2]["step_time_ratio"], nullptr);
  EXPECT_THAT(form("csv", section), HasSubstr("fp16,0,bf16,refuted,change bf16,it stays,,unknown,,,,false\r\n"));
}

TEST_F(MendsTest, VerdictsPromiseNoMoreThanWasRun) {
  const auto verdict = [&](const std::vector<MendRecord>& records) { return written(records).runs.at(0).verdict; };
  const MendRecord refuted = record(1, "bf16", MendStatus::refuted, "{}"), not_tried = record(2, "scale", MendStatus::not_tried, "{}");
  EXPECT_EQ(verdict({refuted}), "nothing that was tried helps");
  EXPECT_EQ(verdict({refuted, not_tried}), "nothing that was tried helps; not everything was tried");
  EXPECT_EQ(verdict({not_tried}), "nothing was tried");
  EXPECT_EQ(verdict({record(3, "epsilon", MendStatus::verified, R"({"remains":["update_lost at w"]})")}), "no single change mends everything; each verified one mends what it is for");
}

TEST_F(MendsTest, RewindTakesTheMendsOfOneRunAway) {
  MendRecord other = record(2, "bf16", MendStatus::refuted, "{}");
  other.run = RunId{1};
  written({record(1, "bf16", MendStatus::refuted, "{}"), other});
  RunFileWriter writer(in("a.ulp"), {.append = true, .rewind = [] {
                                       Rewind rewind;
                                       rewind.mends = {RunId{2}};
                                       return rewind;
                                     }});
  writer.close();
  const auto left = RunFileReader(in("a.ulp")).mends();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].run, RunId{1});
}

TEST_F(MendsTest, NotesAndNoMends) {
  Mends section = mends(make_run_file(in("none.ulp"), {made_up("fp16", 0, 2.0)}));
  EXPECT_TRUE(section.runs.empty());
  section.notes = {"nothing to mend: fp16 seed 0 is healthy"};
  EXPECT_EQ(form("text", section), "nothing to mend: fp16 seed 0 is healthy\n");
  EXPECT_EQ(nlohmann::json::parse(form("json", section))["notes"][0], section.notes[0]);
}

}  // namespace
}  // namespace ulpscope::reports
