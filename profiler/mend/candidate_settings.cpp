// Values of keys: what the remedies of the diagnosis name, and for faults without a remedy what is always worth a try.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "engine/passes/pattern.h"
#include "profiler/mend/candidate.h"
#include "reports/analysis/scale_floor.h"

namespace ulpscope::profiler {
namespace {

using reports::Cause;
using reports::Kind;
using reports::Remedy;

/// Lowest scale tried where nothing says which would do.
constexpr double scale_step = 0x1p-8;

/// "bf16" for "fp16" and so on; "" where there is none.
std::string bf16_instead(const std::string& mode) { return mode.starts_with("fp16") ? "bf16" + mode.substr(4) : ""; }
/// "fp16" for "fp16_pure".
std::string with_masters(const std::string& mode) { return mode.ends_with("_pure") ? mode.substr(0, mode.size() - 5) : ""; }

void set_mode(Experiment& e, const std::string& mode) { e.run.modes = {mode}; }

/// The number after "=" of a key: "train.scaler.init=1024".
std::optional<double> number_of(const std::string& assignment) {
  const std::size_t at = assignment.find('=');
  if (at == std::string::npos) return std::nullopt;
  double number = 0.0;
  const auto [end, error] = std::from_chars(assignment.data() + at + 1, assignment.data() + assignment.size(), number);
  return error == std::errc() && number > 0.0 && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// The policy with this scale to begin with; a fixed one stays fixed, and none becomes that.
scaling::Policy beginning_with(scaling::Policy policy, float scale) {
  if (std::holds_alternative<scaling::NoScaling>(policy)) policy = scaling::FixedScaling{};
  std::visit([scale](auto& p) {
    p.fields([scale](std::string_view key, auto& slot) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(slot)>, float>)
        if (key == "init" || key == "fixed") slot = scale;
    });
  }, policy);
  return policy;
}

/// Words keep six digits of a power of two: all of them again.
double whole_power(double value) {
  const double power = std::exp2(std::round(std::log2(value)));
  return std::fabs(value / power - 1.0) < 1e-5 ? power : value;
}

/// "65536", "2^-26".
std::string scale_words(double scale) {
  const double exponent = std::log2(scale);
  return exponent == std::floor(exponent) && (exponent < -3.0 || exponent > 20.0) ? fmt::format("2^{:g}", exponent) : fmt::format("{:g}", scale);
}

double first_scale(const Experiment& e) { return static_cast<double>(scaling::initial_state(e.train.scaler).scale); }

/// A range was left, or nearly: a wider one helps.
bool about_range(Kind kind) {
  switch (kind) {
    case Kind::activation_too_large:
    case Kind::activation_below_range:
    case Kind::weight_too_large:
    case Kind::gradient_too_large_for_scale:
    case Kind::gradient_below_range:
    case Kind::epsilon_vanished:
    case Kind::zero_divisor:
    case Kind::mask_constant_out_of_range:
    case Kind::mask_sum:
    case Kind::reduction_too_long:
    case Kind::divisor_overflowed:
    case Kind::norm_overflowed: return true;
    default: return false;
  }
}

class Settings {
 public:
  Settings(const Ground& ground, std::vector<Candidate>& list) : ground_(ground), list_(list) {}

  void of_remedy(const Cause& cause, const Remedy& remedy) {
    const auto known = makers().find(remedy.mend);
    if (known != makers().end()) known->second(*this, cause, remedy);
  }

  /// What is tried where no remedy can be: a cause from outside is found out so.
  void of_unknown(const Cause& cause) {
    if (const std::string mode = bf16_instead(ground_.mode()); !mode.empty()) bf16(cause, "");
    if (scales()) scale(cause, std::max(first_scale(ground_.experiment()) * scale_step, 1.0), "");
    if (ground_.mode() == "fp32") return;
    add(cause, {.kind = "fp32", .change = "train in fp32", .cost = 5, .ulpscope = "run.modes=fp32", .apply = [](Experiment& e) { set_mode(e, "fp32"); }});
  }

  /// bf16 has fp32's range: worth a run wherever fp16's may be to blame.
  void wider_range(const Cause& cause) {
    bf16(cause, "Hugging Face: bf16=True, fp16=False; PyTorch: torch.autocast(\"cuda\", dtype=torch.bfloat16), no GradScaler; DeepSpeed: \"bf16\": {\"enabled\": true}");
  }

  /// One scale for the whole run, inside the window of everything that was observed; below 1 only where it has to be.
  void of_window(const Cause& cause) {
    if (!scales()) return;
    if (const std::string why = no_scale_helps(); !why.empty())
      return add(cause, {.kind = "scale_fixed", .change = "a fixed loss scale", .impossible = why});
    const ScaleLimits limits = joined(ground_.around().scale, ground_.found().window);
    if (!limits.highest || !std::isfinite(*limits.highest)) return;
    Candidate c{.kind = "scale_fixed", .whole = true, .no_skips = true};
    if (!(*limits.highest > 0.0) || !limits.open()) {
      c.change = "a fixed loss scale";
      c.impossible = *limits.highest > 0.0
                         ? fmt::format("no one scale suits every observed step: at least {}, so that gradients are kept, at most {}: {}",
                                       scale_words(*limits.lowest), scale_words(*limits.highest), limits.highest_why)
                         : fmt::format("no scale is low enough: {}", limits.highest_why);
      return add(cause, std::move(c));
    }
    const double least = std::max(limits.lowest.value_or(0.0), std::min(1.0, *limits.highest));
    const double value = std::exp2(std::floor(0.5 * (std::log2(least) + std::log2(*limits.highest))));
    if (value > 0x1p127) return;
    c.change = fmt::format("a fixed loss scale of {}, inside the window of all observed steps ({} to {})", value,
                           limits.lowest ? scale_words(*limits.lowest) : "any", scale_words(*limits.highest));
    c.ulpscope = fmt::format("train.scaler.fixed={}", value);
    c.settings = fmt::format("DeepSpeed: \"fp16\": {{\"loss_scale\": {}}}; PyTorch: (loss * {}).backward(), gradients divided by it", value, value);
    c.apply = [value](Experiment& e) { e.train.scaler = scaling::FixedScaling{static_cast<float>(value)}; };
    add(cause, std::move(c));
  }

 private:
  using Maker = void (*)(Settings&, const Cause&, const Remedy&);

  static const std::map<std::string, Maker, std::less<>>& makers() {
    static const std::map<std::string, Maker, std::less<>> all{
        {"bf16", [](Settings& s, const Cause& c, const Remedy& r) { s.bf16(c, r.settings); }},
        {"scale", [](Settings& s, const Cause& c, const Remedy& r) { s.scale_remedy(c, r); }},
        {"scale_floor", [](Settings& s, const Cause& c, const Remedy& r) { s.floor(c, r); }},
        {"scaler", [](Settings& s, const Cause& c, const Remedy& r) { s.scaler(c, r.settings); }},
        {"master_weights", [](Settings& s, const Cause& c, const Remedy& r) { s.masters(c, r); }},
        {"update_rounding", [](Settings& s, const Cause& c, const Remedy& r) { s.rounding(c, r); }},
        {"epsilon", [](Settings& s, const Cause& c, const Remedy& r) { s.epsilon(c, r); }},
        {"moments_fp32", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "keep the optimizer's moments in fp32", "train.moment_format=fp32", [](Experiment& e) { e.train.optimizer.moment_format = Format::fp32; });
         }},
        {"scalar_format", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "keep the optimizer's scalars in fp32", "train.scalar_format=fp32", [](Experiment& e) { e.train.optimizer.scalar_format = Format::fp32; });
         }},
        {"accumulator_fp32", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "add the micro-batches up in fp32", "train.accumulator_format=fp32", [](Experiment& e) { e.train.accumulator_format = Format::fp32; });
         }},
        {"norm_fp32", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "compute the norm for clipping in fp32", "train.norm_accumulate=fp32", [](Experiment& e) { norm_in_fp32(e); });
         }},
        {"clip_order", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "unscale before clipping", "train.clip_order=after_unscale", [](Experiment& e) { e.train.optimizer.clip_before_unscale = false; });
         }},
        {"unscale", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "unscale once, after the last micro-batch", "train.unscale=standard", [](Experiment& e) { e.train.early_unscale = false; });
         }},
        {"buffers", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "put running statistics back when a step is skipped", "train.buffers=transaction", [](Experiment& e) { e.train.buffers = engine::BufferCommit::transaction; });
         }},
        {"schedule_counts", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "move the schedule with applied steps only", "train.schedule_counts=applied", [](Experiment& e) { e.train.schedule_counts = engine::ScheduleCounts::applied; });
         }},
        {"data_scale", [](Settings& s, const Cause& c, const Remedy& r) { s.data_scale(c, r); }},
        {"inject", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "leave the [[inject]] tables out", "without [[inject]]", [](Experiment& e) { e.train.injections.clear(); });
         }},
        {"policy", [](Settings& s, const Cause& c, const Remedy& r) {
           s.plain(c, r, "cap the loss scale at 2^24", "train.scaler.policy=apex", [](Experiment& e) { e.train.scaler = scaling::ApexScaler{}; });
         }},
    };
    return all;
  }

  static void norm_in_fp32(Experiment& e) {
    e.train.optimizer.norm_accumulate = Format::fp32;
    for (engine::Override& o : e.train.overrides)
      if (engine::matches(o.nodes, "global_norm")) o.accumulate.reset(), o.order.reset();
    std::erase_if(e.train.overrides, [](const engine::Override& o) { return !o.output && !o.compute && !o.accumulate && !o.order && !o.scalar; });
  }

  void add(const Cause& cause, Candidate candidate) {
    candidate.targets = {fault_of(cause)};
    add_candidate(list_, std::move(candidate));
  }

  void plain(const Cause& cause, const Remedy& remedy, const char* change, const char* key, void (*apply)(Experiment&)) {
    add(cause, {.kind = remedy.mend, .change = change, .cost = remedy.cost, .ulpscope = key, .settings = remedy.settings, .apply = apply});
  }

  bool scales() const { return ground_.found().run.loss_scaling != "none" && !ground_.found().run.loss_scaling.empty(); }

  /// fp16_pure has a scaler only if it is asked for.
  std::string also_pure() const { return ground_.mode() == "fp16_pure" && !scales() ? ", train.scale_pure=true" : ""; }

  void bf16(const Cause& cause, const std::string& settings) {
    const std::string mode = bf16_instead(ground_.mode());
    if (mode.empty() || beyond_fp32(cause)) return;
    Candidate c{.kind = "bf16", .change = fmt::format("train in {} instead of {}", mode, ground_.mode()), .cost = 3, .ulpscope = "run.modes=" + mode, .settings = settings};
    c.apply = [mode](Experiment& e) { set_mode(e, mode); };
    add(cause, std::move(c));
  }

  /// Why the loss scale cannot mend this run, alone or first of all: its forward pass does not come through. Empty: it may.
  std::string no_scale_helps() const {
    for (const Cause* const c : ground_.causes())
      if (c->gravity == reports::Gravity::fatal && c->phase == "forward" && c->feeds_loss && about_range(c->kind))
        return fmt::format("no loss scale helps: {} at {} makes the loss infinite or NaN in the forward pass, whatever the scale is", name(c->kind), c->node);
    return "";
  }

  void scale(const Cause& cause, double value, const std::string& settings) {
    if (const std::string why = no_scale_helps(); !why.empty())
      return add(cause, {.kind = "scale", .change = "another loss scale", .impossible = why});
    const bool fixed = !scaling::is_dynamic(ground_.experiment().train.scaler);
    if (value == first_scale(ground_.experiment()) || value > 0x1p127) return;
    Candidate c{.kind = "scale", .change = fixed ? fmt::format("a fixed loss scale of {}", value) : fmt::format("begin with a loss scale of {}", value)};
    c.ulpscope = fmt::format("{}={}{}", fixed ? "train.scaler.fixed" : "train.scaler.init", value, also_pure());
    c.settings = settings;
    c.whole = c.no_skips = fixed;
    c.regrows = !fixed;
    scaling::Policy policy = beginning_with(ground_.experiment().train.scaler, static_cast<float>(value));
    // A start that the policy's floor does not allow comes back to the floor after the first growth.
    if (const auto floor = reports::floor_above(policy, static_cast<float>(value))) {
      const auto lowered = reports::lower_floor(policy, static_cast<float>(value));
      if (!lowered) {
        c.impossible = fmt::format("{} does not let its scale fall below {}, and has no key for that", scaling::name(policy), *floor);
        return add(cause, std::move(c));
      }
      policy = lowered->policy;
      c.change += fmt::format(", and a floor of {} instead of {}, below which {} does not let it fall", lowered->floor, *floor, scaling::name(policy));
      c.ulpscope += ", " + lowered->keys;
    }
    c.apply = [policy](Experiment& e) {
      e.train.scaler = policy;
      e.train.scale_pure = true;
    };
    add(cause, std::move(c));
  }

  void floor(const Cause& cause, const Remedy& remedy) {
    const auto value = number_of(remedy.ulpscope);
    const auto lowered = value ? reports::lower_floor(ground_.experiment().train.scaler, static_cast<float>(*value)) : std::nullopt;
    if (!lowered) return;
    Candidate c{.kind = remedy.mend, .change = fmt::format("let the loss scale fall to {}", lowered->floor), .cost = remedy.cost, .ulpscope = lowered->keys, .settings = remedy.settings};
    c.regrows = true;
    c.apply = [policy = lowered->policy](Experiment& e) { e.train.scaler = policy; };
    add(cause, std::move(c));
  }

  void scale_remedy(const Cause& cause, const Remedy& remedy) {
    const bool dynamic = scaling::is_dynamic(ground_.experiment().train.scaler);
    if (const auto value = number_of(remedy.ulpscope)) scale(cause, whole_power(*value), remedy.settings);
    if (cause.kind == Kind::unscale_overflowed) scale(cause, 1.0, "PyTorch: no GradScaler; DeepSpeed: \"fp16\": {\"loss_scale\": 1}");
    if (!dynamic) scaler(cause, "PyTorch: torch.amp.GradScaler(\"cuda\"); Hugging Face: fp16=True brings one; DeepSpeed: \"fp16\": {\"loss_scale\": 0}");
  }

  void scaler(const Cause& cause, const std::string& settings) {
    if (const std::string why = no_scale_helps(); !why.empty())
      return add(cause, {.kind = "scaler", .change = "a dynamic loss scaler", .impossible = why});
    Candidate c{.kind = "scaler", .change = "the dynamic loss scaler with PyTorch's defaults", .cost = 1, .ulpscope = "train.scaler.policy=pytorch" + also_pure(), .settings = settings};
    c.regrows = true;
    c.apply = [](Experiment& e) {
      e.train.scaler = scaling::PytorchScaler{};
      e.train.scale_pure = true;
    };
    add(cause, std::move(c));
  }

  void masters(const Cause& cause, const Remedy& remedy) {
    const std::string mode = with_masters(ground_.mode());
    if (mode.empty()) return;
    Candidate c{.kind = "master_weights", .change = fmt::format("keep fp32 master weights: train in {} instead of {}", mode, ground_.mode()), .cost = remedy.cost};
    const bool widen = !ground_.experiment().train.weights.empty();   // whose fp32 values are lost
    c.ulpscope = "run.modes=" + mode + (widen ? ", train.widen=true" : "");
    c.settings = remedy.settings;
    c.apply = [mode, widen](Experiment& e) {
      set_mode(e, mode);
      e.train.widen = e.train.widen || widen;
    };
    add(cause, std::move(c));
  }

  void rounding(const Cause& cause, const Remedy& remedy) {
    if (!ground_.mode().ends_with("_pure")) return;
    const auto one = [&](const char* name, const char* words, UpdateRounding rounding) {
      Candidate c{.kind = "update_rounding", .change = words, .cost = remedy.cost, .ulpscope = fmt::format("train.update_rounding={}", name), .settings = remedy.settings};
      c.apply = [rounding](Experiment& e) { e.train.optimizer.rounding = rounding; };
      add(cause, std::move(c));
    };
    one("stochastic", "round new weights stochastically", UpdateRounding::stochastic);
    one("kahan", "keep Kahan's compensation beside the weights", UpdateRounding::kahan);
  }

  void data_scale(const Cause& cause, const Remedy& remedy) {
    const DataSettings& data = ground_.experiment().data;
    const auto scale = number_of(remedy.ulpscope);
    if (data.features.empty() || !scale || !(std::fabs(data.scale) > 0.0)) return;
    const double shift = data.shift * (*scale / data.scale);
    Candidate c{.kind = remedy.mend, .change = fmt::format("features times {} instead of {}: changes the training", *scale, data.scale), .cost = remedy.cost, .ulpscope = remedy.ulpscope, .settings = remedy.settings};
    c.apply = [scale = *scale, shift](Experiment& e) {
      e.data.scale = scale;
      e.data.shift = shift;
    };
    add(cause, std::move(c));
  }

  void epsilon(const Cause& cause, const Remedy& remedy) {
    const auto value = number_of(remedy.ulpscope);
    if (cause.phase != "update" || !value) return;
    Candidate c{.kind = "epsilon", .change = fmt::format("a larger epsilon of the optimizer, {:g}: it ends the division by what is (nearly) zero, not the underflow of the second moment", *value), .cost = remedy.cost, .ulpscope = fmt::format("train.epsilon={:g}", *value), .settings = remedy.settings};
    c.apply = [value = *value](Experiment& e) { e.train.optimizer.epsilon = value; };
    add(cause, std::move(c));
  }

  const Ground& ground_;
  std::vector<Candidate>& list_;
};

/// Nothing about formats or scales is known to be behind it.
bool from_outside(Kind kind) {
  return kind == Kind::weights_poisoned || kind == Kind::data_not_finite || kind == Kind::unknown;
}

/// It depends on the scale whether it happens.
bool about_scale(Kind kind) {
  switch (kind) {
    case Kind::gradient_too_large_for_scale:
    case Kind::gradient_below_range:
    case Kind::unscale_overflowed:
    case Kind::scale_floor:
    case Kind::scale_unbounded: return true;
    default: return false;
  }
}

}  // namespace

void add_settings(const Ground& ground, std::vector<Candidate>& list) {
  Settings settings(ground, list);
  for (const Cause* cause : ground.causes()) {
    for (const Remedy& remedy : cause->remedies) settings.of_remedy(*cause, remedy);
    if (about_scale(cause->kind)) settings.of_window(*cause);
    if (about_range(cause->kind)) settings.wider_range(*cause);
    const bool zero_alone = cause->kind == Kind::exact_zero_loss && ground.causes().size() == 1;
    if (from_outside(cause->kind) || zero_alone) settings.of_unknown(*cause);
  }
}

}  // namespace ulpscope::profiler
