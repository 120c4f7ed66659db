// Whole training steps: against their own products, against each other, against the processor.
#include <fmt/format.h>

#include <array>

#include "tests/bench/family.h"
#include "tests/bench/fma_peak.h"
#include "tests/bench/onednn.h"

namespace ulpscope::bench {
namespace {

constexpr int warm_up_steps = 3;
constexpr std::array<const char*, 3> other_modes = {"fp16", "bf16", "tf32"};

class Steps final : public Family {
 public:
  explicit Steps(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    fp32_ = make("fp32");
    for (std::size_t i = 0; i < other_modes.size(); ++i) others_[i] = make(other_modes[i]);
    bare_ = std::make_unique<BareProducts>(*setup_.device, fp32_->plan());
    bare_->run();
    flops_ = step_flops(fp32_->plan(), setup_.model);
  }

  /// The fp32 step and the processor's peak are taken before and after the others: drift that is even in time cancels.
  void round(int repetition, Samples& samples) override {
    double peak = peak_now();
    double fp32 = seconds_of_step(*fp32_);
    std::array<double, other_modes.size()> others{};
    double bare = 0.0;
    constexpr std::size_t places = other_modes.size() + 1;
    for (std::size_t i = 0; i < places; ++i) {
      const std::size_t which = (i + static_cast<std::size_t>(repetition)) % places;
      if (which < others.size()) {
        others[which] = seconds_of_step(*others_[which]);
      } else {
        bare_->refill();
        bare = seconds([&] { bare_->run(); });
      }
    }
    fp32 = 0.5 * (fp32 + seconds_of_step(*fp32_));
    peak = 0.5 * (peak + peak_now());

    samples["steps/fp32 ms"] = fp32 * 1e3;
    samples["steps/products through oneDNN ms"] = bare * 1e3;
    samples["steps/FMA peak GFLOP/s"] = peak * 1e-9;
    samples["steps/fp32 GFLOP/s"] = flops_ / fp32 * 1e-9;
    samples["steps/products"] = fp32 / bare;
    samples["steps/peak"] = flops_ / fp32 / peak;
    for (std::size_t i = 0; i < others.size(); ++i) {
      samples[fmt::format("steps/{} ms", other_modes[i])] = others[i] * 1e3;
      samples[fmt::format("steps/{}", other_modes[i])] = others[i] / fp32;
    }
  }

 private:
  std::unique_ptr<engine::Trainer> make(const char* mode) {
    auto trainer = std::make_unique<engine::Trainer>(*setup_.device, *setup_.dataset, setup_.trainer(mode), topics_);
    for (int i = 0; i < warm_up_steps; ++i) seconds_of_step(*trainer);
    return trainer;
  }

  double peak_now() const {
    const DeviceDescription& d = setup_.device->description();
    return fma_peak(parse_instruction_set(d.instruction_set), d.threads, setup_.options.tiny ? 0.002 : 0.1);
  }

  const Setup& setup_;
  engine::Topics topics_;  // nobody listens
  std::unique_ptr<engine::Trainer> fp32_;
  std::array<std::unique_ptr<engine::Trainer>, other_modes.size()> others_;
  std::unique_ptr<BareProducts> bare_;
  double flops_ = 0.0;
};

}  // namespace

std::unique_ptr<Family> make_steps(const Setup& setup) { return std::make_unique<Steps>(setup); }

}  // namespace ulpscope::bench
