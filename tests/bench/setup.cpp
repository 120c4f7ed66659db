// The step that everything is measured on, and what training it needs.
#include <omp.h>

#include <chrono>

#include "kernels/error.h"
#include "tests/bench/family.h"

namespace ulpscope::bench {
namespace {

constexpr int most_skipped = 300;  // halving finds any loss scale that fp32 has in fewer

engine::GptConfig bench_model(bool tiny) {
  engine::GptConfig model;
  model.context = tiny ? 32 : 256;
  model.vocabulary = 256;
  model.width = tiny ? 48 : 384;
  model.layers = tiny ? 2 : 6;
  model.heads = tiny ? 2 : 6;
  return model;
}

}  // namespace

engine::TrainerSetup Setup::trainer(const std::string& mode) const {
  return {model, engine::find_mode(mode), train, 0};
}

engine::StepPlan Setup::plan(const std::string& mode) const {
  return engine::plan_step(*device, engine::build_model(model, train.batch, true), engine::find_mode(mode), train);
}

Setup make_setup(const Options& options) {
  Setup setup;
  setup.options = options;
  setup.device = make_cpu_device({.threads = options.threads, .instruction_set = {}});
  omp_set_num_threads(setup.device->description().threads);  // the yardstick gets as many threads as the product
  setup.model = bench_model(options.tiny);
  setup.text = ULPSCOPE_SOURCE_DIR "/LICENSE";  // a text that stays as it is
  setup.dataset = engine::load_text({setup.text}, engine::text_options(setup.model, 0.1));
  setup.train.batch = options.tiny ? 2 : 8;
  setup.train.evaluation_batches = 1;
  return setup;
}

double seconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double seconds_of_step(engine::Trainer& trainer) {
  for (int i = 0; i < most_skipped; ++i) {
    engine::StepResult result;
    const double time = seconds([&] { result = trainer.step(); });
    if (!result.skipped) return time;
  }
  throw Error("bench: " + std::to_string(most_skipped) + " steps in a row were skipped");
}

}  // namespace ulpscope::bench
