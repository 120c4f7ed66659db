#include "profiler/mend/fault.h"

#include <fmt/format.h>

#include <algorithm>

namespace ulpscope::profiler {
namespace {

/// "masked.in1.fp16" is the same place as "masked.in1.bf16".
std::string without_format(std::string name) {
  for (const char* suffix : {".fp16", ".bf16", ".fp32"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - std::string_view(suffix).size());
  return name;
}

}  // namespace

std::string Fault::words() const {
  return place.empty() ? std::string(name(kind)) : fmt::format("{} at {}", name(kind), place);
}

Fault fault_of(const reports::Cause& cause) {
  return {cause.kind, without_format(cause.node.empty() ? cause.tensor : cause.node), cause.step, cause.what};
}

std::vector<Fault> faults_of(const reports::RunDiagnosis& run) {
  std::vector<Fault> faults;
  // A divergence is no damage of precision: a lower learning rate mends it all the same.
  const auto diverges = [](const reports::Cause& c) {
    return c.kind == reports::Kind::divergence && std::any_of(c.remedies.begin(), c.remedies.end(), [](const reports::Remedy& r) { return r.mend == "lr"; });
  };
  for (const reports::Cause& cause : run.causes)
    if (cause.gravity <= reports::Gravity::damage || diverges(cause)) add_faults(faults, {fault_of(cause)});
  return faults;
}

bool contains(const std::vector<Fault>& faults, const Fault& fault) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& f) { return f.same(fault); });
}

void add_faults(std::vector<Fault>& to, const std::vector<Fault>& more) {
  for (const Fault& fault : more)
    if (!contains(to, fault)) to.push_back(fault);
}

std::string words(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += fmt::format("{}{}", text.empty() ? "" : "; ", fault.words());
  return text;
}

Judgement judge(const std::vector<Fault>& targets, const std::vector<Fault>& before, const reports::RunDiagnosis& after) {
  Judgement judgement;
  const std::vector<Fault> now = faults_of(after);
  std::vector<Fault> still;
  for (const Fault& fault : now) {
    if (contains(targets, fault)) still.push_back(fault);
    else if (contains(before, fault)) judgement.remains.push_back(fault);
    else judgement.instead.push_back(fault);
  }
  const bool broke_off = after.run.status == reports::RunStatus::failed && now.empty();
  const bool nothing_applied = after.steps > 0 && after.skipped >= after.steps;
  judgement.status = still.empty() && judgement.instead.empty() && !broke_off && !nothing_applied ? reports::MendStatus::verified : reports::MendStatus::refuted;
  if (!still.empty())
    judgement.why = fmt::format("the fault stays: {}: {}", words(still), still.front().what);
  else if (!judgement.instead.empty())
    judgement.why = fmt::format("the fault is gone, and another came: {}: {}", words(judgement.instead), judgement.instead.front().what);
  else if (broke_off)
    judgement.why = fmt::format("the run failed: {}", after.run.message);
  else if (nothing_applied)
    judgement.why = after.steps == 1 ? "the fault does not show, and the one step was skipped: nothing was trained"
                                     : fmt::format("the fault does not show, and all {} steps were skipped: nothing was trained", after.steps);
  else
    judgement.why = "the fault is gone, and nothing worse came";
  return judgement;
}

}  // namespace ulpscope::profiler
