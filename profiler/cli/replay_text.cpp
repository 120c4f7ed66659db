#include "profiler/cli/replay_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "profiler/cli/text.h"
#include "profiler/experiment/json_text.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;
using reports::Cause;
using reports::Fact;

/// Names come from files.
std::string folded(const std::string& text, std::string_view indent) { return wrapped(reports::printable(text), indent); }

/// The gravest fault; none if the step is healthy.
const Cause* fault_of(const ReplayedMode& mode) {
  const auto& causes = mode.diagnosis.causes;
  return causes.empty() || causes.front().gravity > reports::Gravity::contained ? nullptr : causes.data();
}

std::string number_word(double value) {
  return std::isnan(value) ? "NaN" : std::isinf(value) ? (value > 0 ? "inf" : "-inf") : fmt::format("{:.9g}", value);
}

/// Of the capsule's own mode, held against the step it was made of.
std::string bits_words(const ReplayedMode& mode) {
  const GradientComparison& gradients = mode.gradients;
  if (!mode.same_loss && !gradients.recorded) return "other bits than the recorded step (its gradients were not recorded)";
  if (!gradients.recorded) return "loss, scale and finite flag are those of the recorded step; its gradients were not recorded";
  if (mode.same_bits.value_or(false))
    return fmt::format("the bits of the recorded step, {} included", reports::counted(gradients.compared, "gradient"));
  const std::string different = fmt::format("{} of {} gradients, in the order of the backward pass first that of {}",
                                            gradients.different, gradients.compared, gradients.first_different);
  if (mode.same_loss) return "the loss of the recorded step, but other gradients: " + different;
  return "other bits than the recorded step" + (gradients.alike() ? ", but the same gradients" : ": " + different);
}

std::string mode_text(const ReplayedMode& mode) {
  const std::string head = fmt::format("  {:<10}", mode.mode), indent(12, ' ');
  if (!mode.problem.empty()) return folded(head + "could not be run: " + mode.problem, indent) + "\n";
  const engine::StepResult& result = mode.result;
  std::string line = fmt::format("{}loss {}", head, number_word(static_cast<double>(result.loss)));
  if (mode.diagnosis.run.loss_scaling != "none")
    line += fmt::format(", scale {}", reports::scale_text(static_cast<double>(result.loss_scale)));
  line += result.finite ? ", gradients finite" : ", gradients not finite";
  if (mode.own) line += "; " + bits_words(mode);
  std::string text = folded(line, indent) + "\n";
  const Cause* const fault = fault_of(mode);
  if (fault == nullptr) return text + indent + std::string(name(mode.diagnosis.outcome)) + "\n";
  text += folded(fmt::format("{}{}: {}", indent, name(fault->kind), fault->what), indent) + "\n";
  if (!fault->chain.empty())
    text +=
        folded(fmt::format("{}then {} -> {}", indent, fmt::join(fault->chain, " > "), fault->reaches), indent) + "\n";
  return text;
}

json number_json(const reports::Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return number_word(*value) == "NaN" ? "NaN" : *value > 0 ? "Infinity" : "-Infinity";
  return *value;
}

json fault_json(const Cause& cause) {
  json facts = json::array();
  for (const Fact& fact : cause.facts)
    facts.push_back({{"key", fact.key},
                     {"value", number_json(fact.value)},
                     {"text", fact.text},
                     {"provenance", name(fact.provenance)}});
  return {{"kind", name(cause.kind)},     {"gravity", name(cause.gravity)}, {"node", cause.node},
          {"operation", cause.operation}, {"phase", cause.phase},           {"tensor", cause.tensor},
          {"what", cause.what},           {"facts", std::move(facts)},      {"chain", cause.chain},
          {"reaches", cause.reaches}};
}

/// Null where no comparison is due.
json gradients_json(const ReplayedMode& mode) {
  if (!mode.own) return nullptr;
  const GradientComparison& gradients = mode.gradients;
  if (!gradients.recorded) return {{"recorded", false}};
  return {{"recorded", true},
          {"compared", gradients.compared},
          {"different", gradients.different},
          {"first_different", gradients.alike() ? json(nullptr) : json(gradients.first_different)}};
}

json mode_json(const ReplayedMode& mode) {
  if (!mode.problem.empty()) return {{"mode", mode.mode}, {"problem", mode.problem}};
  const Cause* const fault = fault_of(mode);
  const bool scaled = mode.diagnosis.run.loss_scaling != "none";
  return {{"mode", mode.mode},
          {"loss", number_json(static_cast<double>(mode.result.loss))},
          {"loss_scale", scaled ? json(mode.result.loss_scale) : json(nullptr)},
          {"finite", mode.result.finite},
          {"outcome", name(mode.diagnosis.outcome)},
          {"same_bits", mode.same_bits ? json(*mode.same_bits) : json(nullptr)},
          {"gradients", gradients_json(mode)},
          {"first_fault", fault != nullptr ? fault_json(*fault) : json(nullptr)},
          {"provenance", "recomputed"}};
}

}  // namespace

std::string replay_text(const CapsuleReplay& replay) {
  const Capsule& capsule = replay.capsule;
  std::string text = folded(fmt::format("{}: step {} of {}, {}, seed {}; {}", replay.path, capsule.state.iteration + 1,
                                        capsule.experiment.name, capsule.mode, capsule.seed, capsule.way),
                             "  ") +
                     "\n";
  for (const std::string& remark : replay.remarks) text += folded("note: " + remark, "  ") + "\n";
  text += "\n";
  for (const ReplayedMode& mode : replay.modes) text += mode_text(mode);
  return text;
}

std::string replay_json(const CapsuleReplay& replay) {
  const Capsule& capsule = replay.capsule;
  json modes = json::array();
  for (const ReplayedMode& mode : replay.modes) modes.push_back(mode_json(mode));
  return json_text({{"kind", "ulpscope replay"},
                    {"version", 1},
                    {"file", replay.path},
                    {"experiment", capsule.experiment.name},
                    {"recorded",
                     {{"mode", capsule.mode},
                      {"seed", capsule.seed},
                      {"step", capsule.state.iteration},
                      {"loss", number_json(static_cast<double>(capsule.recorded.loss))},
                      {"loss_scale", capsule.recorded.loss_scale},
                      {"finite", capsule.recorded.finite},
                      {"way", capsule.way}}},
                    {"versions", capsule.versions},
                    {"remarks", replay.remarks},
                    {"modes", std::move(modes)}},
                   2);
}

}  // namespace ulpscope::profiler
