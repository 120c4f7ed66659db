// Traces of PyTorch's profiler, made up by the test; sums are made of the test's own list.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/profiler/import_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using nlohmann::json;

class ImportKineto : public ImportFixture {
 protected:
  static json event(const std::string& category, const std::string& name, double ts, double dur, json args = json::object()) {
    return {{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", 1}, {"tid", 100}, {"ts", ts}, {"dur", dur}, {"args", std::move(args)}};
  }
  /// A call on the host, and the kernel that it launches later.
  void launch(const std::string& name, double host, double device, double dur, const std::string& category = "kernel") {
    ++correlation_;
    events_.push_back(event("cuda_runtime", "cudaLaunchKernel", host, 2.0, {{"correlation", correlation_}}));
    json args{{"correlation", correlation_}, {"stream", 7}, {"device", 0}, {"grid", {4, 2, 1}}, {"block", {128, 1, 1}}, {"registers per thread", 32}, {"shared memory", 1024}};
    if (category == "gpu_memcpy") args["bytes"] = 4096;
    events_.push_back(event(category, name, device, dur, args));
  }
  json document(const char* gpu = "NVIDIA H100 PCIe") const {
    return {{"schemaVersion", 1}, {"deviceProperties", {{{"id", 0}, {"name", gpu}, {"totalGlobalMem", 85e9}, {"numSms", 114}, {"computeMajor", 9}}}}, {"traceEvents", events_}, {"traceName", "x"}};
  }
  std::vector<reports::KernelRecord> kernels() const { return reports::RunFileReader(in("run.ulp")).kernels(reports::RunId{1}); }

  json events_ = json::array();
  std::int64_t correlation_ = 0;
};

constexpr const char* fp16_gemm = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn";

/// Two steps of 100 us on the host; the work of each is launched in it and runs 150 us later.
TEST_F(ImportKineto, WorkBelongsToTheStepThatLaunchedIt) {
  const double start = 1743521598000000.0;   // since 1970: 16 digits before the point
  std::map<std::int64_t, std::int64_t> expected;   // by step, nanoseconds
  for (int step = 0; step < 2; ++step) {
    const double t = start + 100.0 * step;
    events_.push_back(event("user_annotation", fmt::format("ProfilerStep#{}", 5 + step), t, 100.0));
    events_.push_back(event("user_annotation", "forward", t + 5.0, 50.0));
    launch(fp16_gemm, t + 10.0, t + 160.0, 30.5);
    launch("triton_poi_fused_add_0", t + 20.0, t + 195.0, 10.25);
    launch("Memcpy HtoD (Pageable -> Device)", t + 70.0, t + 210.0, 5.0, "gpu_memcpy");
    expected[5 + step] = 30500 + 10250 + 5000;
  }
  launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 250.0, start + 400.0, 1.0);   // after the last step
  events_.push_back(event("cpu_op", "aten::mm", start, 1.0));
  events_.push_back({{"ph", "M"}, {"name", "process_name"}});
  const Answer answer = import(file("trace.json", document().dump(1)), {"--mode", "fp16"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("PyTorch profiler trace: 5 kernels, 2 copies, 0 sets of memory, 2 steps"), HasSubstr("device: NVIDIA H100 PCIe"), HasSubstr("of no step: 1"),
                                      HasSubstr("not read: cpu_op: 1"), HasSubstr("not read: metadata: 1"), HasSubstr("fp16 73.9 %, unknown 24.8 %, fp32 1.2 %")))
      << answer.out;
  std::map<std::int64_t, std::int64_t> sums;
  for (const auto& k : kernels()) sums[k.step.value_or(-1)] += k.duration_ns;
  expected[-1] = 1000;
  EXPECT_EQ(sums, expected);
  const auto first = kernels().front();
  EXPECT_EQ(first.name, fp16_gemm);
  EXPECT_EQ(first.start_ns, 160001);   // of the first step's begin, and one
  EXPECT_EQ(first.grid, (std::array<std::int64_t, 3>{4, 2, 1}));
  EXPECT_EQ(first.registers, 32);
  EXPECT_EQ(first.stream, 7);
  const auto rows = steps();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].step, 6);
  EXPECT_NEAR(*rows[1].wall_seconds, 100e-6, 1e-12);
  EXPECT_FALSE(rows[0].loss.has_value());

  const json time = json::parse(ulpscope({"time", in("run.ulp"), "--json"}).out);
  double gemm = 0.0;
  std::string formats;
  for (const auto& node : time.at("modes").at(0).at("nodes"))
    if (node.at("name") == fp16_gemm) {
      gemm = node.at("seconds").at("value").get<double>();
      formats = node.at("formats").get<std::string>();
    }
  EXPECT_NEAR(gemm, 30.5e-6, 1e-12);
  EXPECT_THAT(formats, HasSubstr("fp16 > fp32 sums (inferred"));
  const std::string text = flat(ulpscope({"time", in("run.ulp")}).out);
  EXPECT_THAT(text, AllOf(HasSubstr("trace imported from"), HasSubstr("inferred from their names"), HasSubstr("range forward: 2 x, 0.1 ms on the host; 4 kernels and copies launched in it took 0.0815 ms"), HasSubstr("[memcpy HtoD")));
  EXPECT_THAT(diagnosis(), HasSubstr("unknown: a trace says when kernels ran, and nothing of numbers"));
  EXPECT_THAT(flat(ulpscope({"info", in("run.ulp")}).out), HasSubstr("ulpscope did not run it"));
  EXPECT_EQ(ulpscope({"compare", in("run.ulp")}).code, 0);
}

TEST_F(ImportKineto, WithoutStepsAndWithoutCalls) {
  events_.push_back(event("Kernel", "volta_sgemm_128x64_nn", 10.0, 4.0, {{"stream", "seven"}, {"correlation", -3}}));   // an older version's capital
  const Answer answer = import(file("trace.json", document().dump()));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("1 kernel, 0 copies"), HasSubstr("none are marked")));
  EXPECT_FALSE(kernels().at(0).step.has_value());
  EXPECT_THAT(flat(ulpscope({"time", in("run.ulp")}).out), AllOf(HasSubstr("marks no steps: figures \"a step\" are of the whole trace"), HasSubstr("4 µs")));
  // A step range of another name; no call is known, so the step under way is inferred.
  events_.push_back(event("user_annotation", "iteration 7", 5.0, 20.0));
  ASSERT_EQ(import(file("trace.json", document().dump()), {"--step-range", "iteration"}).code, 0);
  EXPECT_EQ(kernels().at(0).step, 7);
  // What the device says of the step goes before that.
  events_.push_back(event("user_annotation", "iteration 8", 30.0, 20.0));
  events_.push_back(event("gpu_user_annotation", "iteration 8", 6.0, 10.0));
  ASSERT_EQ(import(file("trace.json", document().dump()), {"--step-range", "iteration"}).code, 0);
  EXPECT_EQ(kernels().at(0).step, 8);
  expect_refused(in("trace.json"), "--step-range epoch: no range", {"--step-range", "epoch"});
}

TEST_F(ImportKineto, WhatIsWrongIsLeftOutAndCounted) {
  launch("a", 1.0, 2.0, 3.0);
  launch("b", 1.0, 2.0, -3.0);
  events_.push_back(event("kernel", "c", 5.0, 1.0));
  events_.back()["ts"] = "soon";
  events_.push_back(event("kernel", "d", 5.0, 1.0));
  events_.back().erase("dur");
  events_.push_back(17);
  events_.push_back({{"ph", 3}});
  events_.push_back(event("kernel", "e", 5.0, 1.0));
  events_.back()["name"] = json::array({"e"});
  std::string text = document().dump();
  text.replace(text.find("\"ts\":\"soon\""), 11, "\"ts\":NaN");
  const Answer answer = import(file("trace.json", text));
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(kernels().size(), 1u);
  EXPECT_THAT(flat(answer.out), AllOf(HasSubstr("events with a negative duration: 1"), HasSubstr("events that cannot be read: 5"), HasSubstr("kernel \"c\" has no number in \"ts\"")));
  std::int64_t lost = 0;
  for (const auto& row : reports::RunFileReader(in("run.ulp")).completeness())
    if (row.kind == "lost") lost += row.count.value_or(0);
  EXPECT_EQ(lost, 6);
}

TEST_F(ImportKineto, PackedCutOffAndEmpty) {
  for (int i = 0; i < 500; ++i) launch(fmt::format("kernel {}", i % 7), i, i + 0.5, 0.25);
  const std::string text = document().dump(2);
  ASSERT_EQ(import(gzip("trace.json.gz", text)).code, 0);
  EXPECT_EQ(kernels().size(), 500u);
  expect_refused(gzip("cut.json.gz", text, 0.5), "cut.json.gz: the compressed data end early, at byte");
  expect_refused(file("cut.json", text.substr(0, text.size() / 2)), fmt::format("cut.json: byte {}: the JSON ends before it is complete", text.size() / 2 + 1));
  std::string damaged = text;
  damaged[text.size() / 2] = '\x01';
  EXPECT_EQ(import(file("damaged.json", damaged)).code, 2);
  expect_refused(file("other.json", "{\"schemaVersion\": 1, \"events\": []}"), "there are no traceEvents in it");
  events_ = json::array();
  expect_refused(file("empty.json", document().dump()), "empty.json: no kernel, copy or set of memory that can be read is in this PyTorch profiler trace");
  // The list of events alone is a trace, too.
  launch("k", 1.0, 2.0, 3.0);
  ASSERT_EQ(import(file("list.json", events_.dump())).code, 0);
  EXPECT_EQ(kernels().size(), 1u);
  EXPECT_EQ(run().device, "unknown");
}

/// Since 1970 a microsecond has 16 digits before the point, and a double keeps a quarter of one: nanoseconds are read as they are written.
TEST_F(ImportKineto, NanosecondsAreKept) {
  const auto kernel = [](const char* ts, const char* dur) { return fmt::format("{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": {}, \"dur\": {}}}", ts, dur); };
  ASSERT_EQ(import(file("trace.json", "{\"traceEvents\": [" + kernel("1743521598000000.001", "1.5") + "," + kernel("1743521598000000.457", "0.003") + "," + kernel("1743521598000001", "2e-1") + "]}")).code, 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const auto& k : kernels()) found.emplace_back(k.start_ns, k.duration_ns);
  EXPECT_THAT(found, ::testing::ElementsAre(std::pair(1, 1500), std::pair(457, 3), std::pair(1000, 200)));
}

TEST_F(ImportKineto, TheDeviceWithTheMostWorkIsTheRuns) {
  launch("a", 1.0, 2.0, 3.0);
  launch("b", 1.0, 2.0, 5.0);
  events_.back()["args"]["device"] = 1;
  const Answer answer = import(file("trace.json", document().dump()));
  ASSERT_EQ(answer.code, 0);
  ASSERT_EQ(kernels().size(), 1u);
  EXPECT_EQ(kernels()[0].name, "b");
  EXPECT_THAT(flat(answer.out), HasSubstr("on other devices: 1"));
}

}  // namespace
}  // namespace ulpscope::profiler
