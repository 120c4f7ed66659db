// A step with the ranges of NVTX around it, its passes and its nodes, and no tool that listens, against one without.
#include "profiler/trace/nvtx_ranges.h"

#include <algorithm>

#include "kernels/error.h"
#include "tests/bench/family.h"

namespace ulpscope::bench {
namespace {

constexpr int warm_up_steps = 2;

/// Of examples/demo.toml: the smaller a step, the more its ranges weigh.
engine::GptConfig demo_model() {
  engine::GptConfig model;
  model.context = 128;
  model.width = 128;
  model.layers = 4;
  model.heads = 4;
  return model;
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

class Nvtx final : public Family {
 public:
  explicit Nvtx(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    if (profiler::nvtx::attached()) throw Error("bench: a tool listens to NVTX: its ranges cost what the tool makes of them");
    engine::TrainerSetup trainer = setup_.trainer("fp32");
    if (!setup_.options.tiny) trainer.model = demo_model();
    dataset_ = engine::load_text({setup_.text}, engine::text_options(trainer.model, 0.1));
    plain_ = std::make_unique<engine::Trainer>(*setup_.device, *dataset_, trainer, quiet_);
    ranged_ = std::make_unique<engine::Trainer>(*setup_.device, *dataset_, trainer, topics_);
    ranges_ = std::make_unique<profiler::NvtxRanges>(topics_, ranged_->plan().graph);
    for (int i = 0; i < warm_up_steps; ++i) {
      seconds_of_step(*plain_);
      seconds_of_step(*ranged_);
    }
  }

  /// Both trainers in turn, the first one changing; the medians, because a time slice of others hits single steps.
  void round(int, Samples& samples) override {
    std::vector<double> plain, ranged;
    for (int i = 0; i < steps(); ++i) {
      if (i % 2 == 0) plain.push_back(seconds_of_step(*plain_));
      ranged.push_back(seconds_of_step(*ranged_));
      if (i % 2 != 0) plain.push_back(seconds_of_step(*plain_));
    }
    samples["nvtx/step"] = median_of(ranged) / median_of(plain);
    samples["nvtx/plain step ms"] = median_of(plain) * 1e3;
  }

 private:
  int steps() const { return setup_.options.quick ? 30 : 60; }

  const Setup& setup_;
  std::unique_ptr<engine::Dataset> dataset_;
  engine::Topics quiet_, topics_;
  std::unique_ptr<engine::Trainer> plain_, ranged_;
  std::unique_ptr<profiler::NvtxRanges> ranges_;
};

}  // namespace

std::unique_ptr<Family> make_nvtx(const Setup& setup) { return std::make_unique<Nvtx>(setup); }

}  // namespace ulpscope::bench
