// The bench: measures the rows of rows.cpp in turn, as repetitions of Google Benchmark in random order, and judges
// them.
//
// Exit code 0: no row's whole interval lies beyond its bar; 1: one does; 2: nothing was judged, one line on standard
// error says why.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernels/error.h"
#include "kernels/matmul.h"
#include "tests/bench/foreign_use.h"
#include "tests/bench/onednn.h"
#include "tests/bench/report.h"

namespace ulpscope::bench {
namespace {

constexpr int full_repetitions = 12, quick_repetitions = 7, least_repetitions = 7;

constexpr double much_use = 0.1;  // processors

struct FamilyEntry {
  const char* name;
  std::unique_ptr<Family> (*make)(const Setup&);
};
constexpr std::array<FamilyEntry, 9> families = {{{"products", make_products},
                                                  {"units", make_units},
                                                  {"steps", make_steps},
                                                  {"conversions", make_conversions},
                                                  {"recorder", make_recorder},
                                                  {"nvtx", make_nvtx},
                                                  {"observation", make_observation},
                                                  {"memory", make_memory},
                                                  {"kept", make_kept}}};

/// Collects the counters of every repetition, and lets Google Benchmark write its JSON beside them.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  Collector() {
    json_.SetOutputStream(&text_);
    json_.SetErrorStream(&text_);
  }
  bool ReportContext(const Context& context) override { return json_.ReportContext(context); }
  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> repetitions;
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration) repetitions.push_back(run);
    for (const Run& run : repetitions)
      for (const auto& [name, counter] : run.counters) series_[name].push_back(counter.value);
    json_.ReportRuns(repetitions);
  }
  void Finalize() override { json_.Finalize(); }

  const Series& series() const { return series_; }
  nlohmann::json json() const { return nlohmann::json::parse(text_.str()); }

 private:
  benchmark::JSONReporter json_;
  std::ostringstream text_;
  Series series_;
};

/// One round is one iteration; its manual time is the round's. What is thrown ends the bench, after Google Benchmark is
/// done.
void register_family(const std::string& name, Family& family, int repetitions, int& round, std::exception_ptr& fault) {
  const auto run = [&family, &round, &fault](benchmark::State& state) {
    for (auto _ : state) {
      if (fault) {
        state.SkipWithError("an earlier round failed");
        break;
      }
      try {
        Samples samples;
        state.SetIterationTime(seconds([&] { family.round(round, samples); }));
        for (const auto& [sample, value] : samples) state.counters[sample] = value;
      } catch (...) {
        fault = std::current_exception();
        state.SkipWithError("failed");
        break;
      }
      ++round;
    }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(1)->Repetitions(repetitions)->UseManualTime();
}

void run_benchmarks(Collector& collector) {
  std::vector<std::string> words = {"ulpscope_bench", "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::Shutdown();
}

std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string one, five, fifteen;
  file >> one >> five >> fifteen;
  return fmt::format("{} {} {}", one, five, fifteen);
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures the rows of docs/performance.md and judges each against its bar.", "ulpscope_bench"};
  app.add_flag("--quick", options.quick, "7 repetitions, fewer shapes, shorter measurements");
  app.add_option("--filter", options.filter, "only rows whose name contains NAME")->type_name("NAME");
  app.add_option("--repetitions", options.repetitions,
                 fmt::format("at least {}; without it {}", least_repetitions, full_repetitions))
      ->type_name("N");
  app.add_option("--threads", options.threads, "0: all processors this process may use")->type_name("N");
  app.add_option("-o,--output", options.output, "the JSON file")->type_name("FILE");
  app.add_flag("--verbose", options.verbose, "every shape and instruction set too");
  app.add_flag("--tiny", options.tiny, "a tiny model, to try the program out: its figures mean nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    std::exit(0);
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("ulpscope_bench: {}; see --help", error.what()));
  }
  if (options.repetitions == 0) options.repetitions = options.quick ? quick_repetitions : full_repetitions;
  if (options.repetitions < least_repetitions)
    throw UsageError(fmt::format("ulpscope_bench: --repetitions {}: an interval needs at least {}", options.repetitions,
                                 least_repetitions));
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::vector<Row> rows = rows_like(options.filter);
  std::ofstream output(options.output);  // before minutes are spent
  if (!output) throw UsageError(fmt::format("ulpscope_bench: cannot write {}", options.output));
  const Setup setup = make_setup(options);
  matmul_self_test(*setup.device);
  const DeviceDescription& device = setup.device->description();
  const std::string load_before = load_average();
  fmt::print("{}, {} threads, {}; yardstick {}; {} repetitions; load {}\n", device.name, device.threads,
             device.matmul_library, onednn_version(), options.repetitions, load_before);

  std::set<std::string> wanted;
  for (const Row& row : rows) wanted.insert(row.family());
  std::vector<std::unique_ptr<Family>> made;
  std::array<int, families.size()> rounds{};
  std::exception_ptr fault;
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (!wanted.contains(families[i].name)) continue;
    spdlog::info("preparing {}", families[i].name);
    made.push_back(families[i].make(setup));
    made.back()->prepare();
    register_family(families[i].name, *made.back(), options.repetitions, rounds[i], fault);
  }
  spdlog::info("measuring");
  const ForeignUse foreign;
  Collector collector;
  run_benchmarks(collector);
  if (fault) std::rethrow_exception(fault);

  const std::vector<RowResult> results = judge_rows(rows, collector.series());
  const double others = foreign.processors();
  const std::string load_after = load_average();
  fmt::print("\n{}\n{}\n", table(results), figures(collector.series(), options.verbose));
  fmt::print("load {} before, {} after; others used {:.2f} of the processors while this was measured\n", load_before,
             load_after, others);
  if (others > much_use)
    fmt::print("that is much: what several threads do together is slowed by more than its share\n");
  nlohmann::json json = collector.json();
  json["rows"] = to_json(results);
  json["ulpscope"] = {{"processor", device.name},
                      {"instruction_set", device.instruction_set},
                      {"threads", device.threads},
                      {"matmul_library", device.matmul_library},
                      {"yardstick", onednn_version()},
                      {"load_before", load_before},
                      {"load_after", load_after},
                      {"processors_used_by_others", others},
                      {"quick", options.quick},
                      {"tiny", options.tiny},
                      {"repetitions", options.repetitions}};
  output << json.dump(1) << '\n';
  output.close();
  if (!output) throw Error(fmt::format("ulpscope_bench: cannot write {}", options.output));
  return any_beyond(results) ? 1 : 0;
}

}  // namespace
}  // namespace ulpscope::bench

int main(int argc, char** argv) {
  spdlog::set_pattern("%v");
  try {
    return ulpscope::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
