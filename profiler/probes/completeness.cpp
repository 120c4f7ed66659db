#include "profiler/probes/completeness.h"

#include <fmt/format.h>

namespace ulpscope::profiler {
namespace {

reports::CompletenessRecord record_of(std::optional<reports::RunId> run, const std::string& kind,
                                      const std::string& subject) {
  reports::CompletenessRecord record;
  record.run = run;
  record.kind = kind;
  record.subject = subject;
  return record;
}

std::string share_words(double seconds, double of) {
  return of > 0 ? fmt::format("{:.3f} % of the training time", 100 * seconds / of)
                : std::string("share of the training time unknown");
}

}  // namespace

WatchingCost& WatchingCost::operator+=(const WatchingCost& other) {
  run_seconds += other.run_seconds;
  recorder_seconds += other.recorder_seconds;
  clock_seconds += other.clock_seconds;
  steps += other.steps;
  clocked_steps += other.clocked_steps;
  return *this;
}

void record_completeness(const Sink& sink, reports::RunId run, const Faults& faults, const WatchingCost& cost) {
  if (faults.count() > 0) {
    auto record = record_of(run, "fault", "profiler");
    record.count = faults.count();
    record.detail = faults.first();
    sink(record);
  }
  const auto push_cost = [&](const std::string& subject, double seconds, std::int64_t steps,
                             reports::Provenance provenance) {
    auto record = record_of(run, "note", subject);
    record.seconds = seconds;
    record.provenance = provenance;
    const std::string since = cost.first_step > 0 ? fmt::format(" since it went on at step {}", cost.first_step + 1) : "";
    record.detail = fmt::format("in {} of {} steps{}, {}", steps, cost.steps, since, share_words(seconds, cost.run_seconds));
    sink(record);
  };
  push_cost("cost of the recorder", cost.recorder_seconds, cost.steps, reports::Provenance::measured);
  push_cost("cost of the node clock", cost.clock_seconds, cost.clocked_steps, reports::Provenance::inferred);
}

void record_watching(const Sink& sink, const WatchingCost& all, double writer_seconds) {
  const auto push = [&](const std::string& subject, double seconds, reports::Provenance provenance,
                        const std::string& more) {
    auto record = record_of(std::nullopt, "observation_cost", subject);
    record.seconds = seconds;
    record.provenance = provenance;
    record.detail = share_words(seconds, all.run_seconds) + more;
    sink(record);
  };
  push("recorder", all.recorder_seconds, reports::Provenance::measured, "");
  push("node clock", all.clock_seconds, reports::Provenance::inferred,
       fmt::format("; nodes were timed in {} of {} steps", all.clocked_steps, all.steps));
  push("writer thread", writer_seconds, reports::Provenance::measured, ", beside it; the timing phase is not watched");
}

void record_note(const Sink& sink, std::optional<reports::RunId> run, const std::string& subject,
                 const std::string& text) {
  auto record = record_of(run, "note", subject);
  record.detail = text;
  sink(record);
}

}  // namespace ulpscope::profiler
