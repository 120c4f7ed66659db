// What changes the training itself, where nothing else reaches the cause: a lower learning rate for what diverges in fp32, too, a
// decay that acts, micro-batches of another size. Each is labelled so.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/mend/candidate.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Kind;

constexpr int changes_training = 4;   ///< cost: after every change that leaves the training as it is
/// Shares of the learning rate that are tried one after the other, until one helps.
constexpr std::array<double, 4> shares_of_rate{0.5, 0.125, 0.015625, 0.001953125};
/// A rate or a decay that just reaches half an ulp rounds either way: twice that is beyond it.
constexpr double beyond_half_ulp = 2.0;

/// Two digits, upwards.
double rounded_up(double x) {
  const double digit = std::pow(10.0, std::floor(std::log10(x)) - 1.0);
  return std::ceil(x / digit) * digit;
}

void set_rate(Candidate& c, double rate) {
  c.kind = "lr";
  c.ulpscope = fmt::format("train.lr={:.6g}", rate);
  c.settings = fmt::format("Hugging Face: learning_rate={0:.6g}; PyTorch: lr={0:.6g}; DeepSpeed: \"optimizer\": {{\"params\": {{\"lr\": {0:.6g}}}}}", rate);
  c.apply = [rate](Experiment& e) { e.train.schedule.learning_rate = rate; };
}

/// It came after a step was taken, and no format is to blame: fp32 fails, too, or has no range for it.
bool diverges(const Ground& ground, const Cause& cause) {
  if (find_fact(cause, "learning_rate") != nullptr) return true;
  if (cause.step.value_or(0) == 0) return false;
  switch (cause.kind) {
    case Kind::activation_too_large:
    case Kind::weight_too_large:
    case Kind::gradient_too_large_for_scale:
    case Kind::update_overflowed:
    case Kind::unknown: return beyond_fp32(cause) || ground.around().fp32_fails;
    default: return false;
  }
}

void lower_rate(const Ground& ground, const Cause& cause, std::vector<Candidate>& list) {
  const double rate = ground.experiment().train.schedule.learning_rate;
  if (!(rate > 0.0)) return;
  for (const double share : shares_of_rate) {
    Candidate c{.change = fmt::format("a lower learning rate, {:.6g} (1/{:g} of {:.6g}): changes the training", rate * share, 1.0 / share, rate),
                .cost = 1, .targets = {fault_of(cause)}, .ladder = "lr"};
    set_rate(c, rate * share);
    add_candidate(list, std::move(c));
  }
}

/// An update that half an ulp swallows lands if it is larger.
void raise_rate(const Ground& ground, const Cause& cause, std::vector<Candidate>& list) {
  const reports::Fact* needed = find_fact(cause, "needed_lr");
  if (needed == nullptr || !needed->value || !(*needed->value > 0.0) || !std::isfinite(*needed->value)) return;
  const double rate = rounded_up(*needed->value * beyond_half_ulp);
  Candidate c{.change = fmt::format("a learning rate of {:g} instead of {:g}, at which updates land: changes the training", rate, ground.experiment().train.schedule.learning_rate),
              .cost = changes_training, .targets = {fault_of(cause)}};
  set_rate(c, rate);
  add_candidate(list, std::move(c));
}

void raise_decay(const Ground& ground, const Cause& cause, std::vector<Candidate>& list) {
  const reports::Fact *now = find_fact(cause, "lr_decay"), *half = find_fact(cause, "half_ulp");
  const double asked = ground.experiment().train.optimizer.weight_decay;
  if (now == nullptr || half == nullptr || !now->value || !half->value || !(*now->value > 0.0) || !(asked > 0.0)) return;
  const double decay = rounded_up(asked * *half->value / *now->value * beyond_half_ulp);
  if (decay * ground.experiment().train.schedule.learning_rate >= 1.0) return;   // it would take the whole weight
  Candidate c{.kind = "weight_decay", .cost = changes_training, .targets = {fault_of(cause)}};
  c.change = fmt::format("a weight decay of {:g} instead of {:g}: lr x decay is above half an ulp; it pulls {:.3g} times as hard and changes the training", decay, asked, decay / asked);
  c.ulpscope = fmt::format("train.weight_decay={:g}", decay);
  c.settings = fmt::format("Hugging Face: weight_decay={0:g}; PyTorch: AdamW(weight_decay={0:g})", decay);
  c.apply = [decay](Experiment& e) { e.train.optimizer.weight_decay = decay; };
  add_candidate(list, std::move(c));
}

/// factor above 1: so many times the micro-batches, each so much smaller; below 1: the other way round.
void resize(const Ground& ground, const Cause& cause, double factor, const char* why, const char* ladder, std::vector<Candidate>& list) {
  const engine::TrainConfig& train = ground.experiment().train;
  if (std::holds_alternative<engine::GraphConfig>(ground.experiment().model)) return;   // its shapes hold the batch
  const auto batch = static_cast<double>(train.batch) / factor, parts = static_cast<double>(train.micro_batches) * factor;
  if (batch < 1.0 || parts < 1.0 || batch != std::floor(batch) || parts != std::floor(parts) || parts > static_cast<double>(engine::most_micro_batches)) return;
  Candidate c{.kind = "micro_batches", .cost = factor > 1.0 ? 1 : 2, .targets = {fault_of(cause)}, .ladder = ladder};
  c.change = fmt::format("{:g} micro-batches of {:g} instead of {} of {}: {}", parts, batch, train.micro_batches, train.batch, why);
  c.ulpscope = fmt::format("train.micro_batches={:g}, train.batch={:g}", parts, batch);
  c.settings = fmt::format("Hugging Face: gradient_accumulation_steps={:g}, per_device_train_batch_size={:g}; DeepSpeed: \"gradient_accumulation_steps\": {:g}", parts, batch, parts);
  c.apply = [batch, parts](Experiment& e) {
    e.train.batch = static_cast<std::int64_t>(batch);
    e.train.micro_batches = static_cast<std::int64_t>(parts);
  };
  add_candidate(list, std::move(c));
}

void shorter_sums(const Ground& ground, const Cause& cause, std::vector<Candidate>& list) {
  if (cause.phase != "forward") return;
  for (const double factor : {2.0, 4.0, 8.0, 16.0})
    resize(ground, cause, factor, "each sum is shorter, and each loss is divided by less", "shorter sums", list);
}

void fewer_parts(const Ground& ground, const Cause& cause, std::vector<Candidate>& list) {
  if (cause.operation != "accumulate") return;
  const auto parts = static_cast<double>(ground.experiment().train.micro_batches);
  for (const double share : {0.5, 0.125, 1.0 / parts})
    if (share < 1.0) resize(ground, cause, share, "fewer are added up", "fewer micro-batches", list);
}

}  // namespace

void add_training(const Ground& ground, std::vector<Candidate>& list) {
  for (const Cause* cause : ground.causes()) {
    if (diverges(ground, *cause)) lower_rate(ground, *cause, list);
    if (cause->kind == Kind::update_lost) raise_rate(ground, *cause, list);
    if (cause->kind == Kind::weight_decay_lost) raise_decay(ground, *cause, list);
    if (cause->kind == Kind::reduction_too_long) shorter_sums(ground, *cause, list);
    if (cause->kind == Kind::sum_stuck) fewer_parts(ground, *cause, list);
  }
}

}  // namespace ulpscope::profiler
