// Memory of the program itself, run in one mode as a process of its own, against what the plan says; and what the plan
// keeps.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "kernels/error.h"
#include "tests/bench/family.h"
#include "tests/bench/scratch_folder.h"

namespace ulpscope::bench {
namespace {

constexpr std::array<const char*, 4> modes = {"fp32", "fp16", "bf16", "tf32"};
constexpr std::array<const char*, 2> half_modes = {"fp16", "bf16"};

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) last = line;
  return last;
}

class Memory final : public Family {
 public:
  explicit Memory(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const engine::MemoryPlan memory = setup_.plan(modes[i]).memory;
      planned_[i] = static_cast<double>(memory.persistent_bytes + memory.arena_bytes);
    }
  }

  void round(int, Samples& samples) override {
    const double empty = peak_of({"--version"});
    samples["memory/empty program MiB"] = empty / 0x1p20;
    std::array<double, modes.size()> peak{};
    for (std::size_t i = 0; i < modes.size(); ++i) {
      peak[i] = peak_of(arguments(modes[i]));
      samples[fmt::format("memory/{}", modes[i])] = peak[i] / (planned_[i] + empty);
      samples[fmt::format("memory/{} MiB", modes[i])] = peak[i] / 0x1p20;
      samples[fmt::format("memory/{} planned MiB", modes[i])] = planned_[i] / 0x1p20;
    }
    samples["memory/bf16_to_fp32"] = peak[2] / peak[0];
  }

 private:
  std::vector<std::string> arguments(const char* mode) const {
    const engine::GptConfig& m = setup_.model;
    std::vector<std::string> list = {"run",
                                     "--model",
                                     "gpt",
                                     "--data",
                                     setup_.text,
                                     "--modes",
                                     mode,
                                     "--steps",
                                     "3",
                                     "--timing-steps",
                                     "0",
                                     "--threads",
                                     std::to_string(setup_.device->description().threads),
                                     "-o",
                                     folder_.file("memory.ulp"),
                                     "--observe-every",
                                     "0",
                                     "--force"};
    for (const auto& [key, value] : {std::pair{"model.context", m.context},
                                     {"model.vocabulary", m.vocabulary},
                                     {"model.width", m.width},
                                     {"model.layers", m.layers},
                                     {"model.heads", m.heads},
                                     {"train.batch", setup_.train.batch},
                                     {"train.evaluation_batches", setup_.train.evaluation_batches}}) {
      list.push_back("--set");
      list.push_back(fmt::format("{}={}", key, value));
    }
    return list;
  }

  /// Greatest resident bytes of the program with these arguments. It reports them itself, when all is done (child.cpp):
  /// what the system tells a parent contains the parent's own pages, from before the child's program was loaded.
  double peak_of(const std::vector<std::string>& list) const {
    const std::string report = folder_.file("peak"), errors = folder_.file("errors");
    std::vector<std::string> words = {ULPSCOPE_BENCH_CHILD, report};
    words.insert(words.end(), list.begin(), list.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) throw Error("bench: cannot start a process");
    if (child == 0) {
      const int nothing = open("/dev/null", O_WRONLY), file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(nothing, STDOUT_FILENO);
      dup2(file, STDERR_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      throw Error(fmt::format("bench: {} {} … failed: {}", ULPSCOPE_BENCH_CHILD, list.front(), last_line(errors)));
    return std::stod(last_line(report)) * 1024.0;
  }

  const Setup& setup_;
  ScratchFolder folder_;
  std::array<double, modes.size()> planned_{};
};

/// Counted from the plan: forward values alive when the backward pass begins, casts included; copies of weights are not
/// kept for backward, but for the next step. Attention is one operator.
class Kept final : public Family {
 public:
  explicit Kept(const Setup& setup) : setup_(setup) {}

  void prepare() override {
    fp32_ = bytes("fp32");
    for (std::size_t i = 0; i < half_modes.size(); ++i) halves_[i] = bytes(half_modes[i]);
  }

  void round(int, Samples& samples) override {
    samples["kept/fp32 MiB"] = fp32_ / 0x1p20;
    for (std::size_t i = 0; i < half_modes.size(); ++i) {
      samples[fmt::format("kept/{} MiB", half_modes[i])] = halves_[i] / 0x1p20;
      samples[fmt::format("kept/{}", half_modes[i])] = halves_[i] / fp32_;
    }
  }

 private:
  double bytes(const char* mode) const {
    double sum = 0.0;
    for (const auto& [category, kept] : setup_.plan(mode).memory.kept_for_backward)
      if (category == engine::MemoryCategory::activations || category == engine::MemoryCategory::casts)
        sum += static_cast<double>(kept);
    return sum;
  }

  const Setup& setup_;
  double fp32_ = 0.0;
  std::array<double, half_modes.size()> halves_{};
};

}  // namespace

std::unique_ptr<Family> make_memory(const Setup& setup) { return std::make_unique<Memory>(setup); }
std::unique_ptr<Family> make_kept(const Setup& setup) { return std::make_unique<Kept>(setup); }

}  // namespace ulpscope::bench
