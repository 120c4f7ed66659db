// Flags that write keys of the experiment file: ulpscope's own, and those known from the Hugging Face trainer. There is
// no second path: whatever a flag does, --set can do.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profiler/experiment/experiment_file.h"

namespace CLI {
class App;
}

namespace ulpscope::profiler {

/// The experiment a command line describes: FILE, flags, --set.
class ExperimentFlags {
 public:
  /// Only what decides the plan: FILE, --model, --keep-fp32, --recompute, --no-fusion, --threads, --set.
  void declare_for_plan(CLI::App& app);
  /// Only what decides a single product: FILE, --model, --keep-fp32, --threads, --set. --accumulate is there to be refused with its reason.
  void declare_for_sweep(CLI::App& app);
  /// All of them.
  void declare_for_run(CLI::App& app);

  /// What was given, in order of precedence: file, flags, --set. Throws UsageError for what contradicts itself.
  Settings settings() const;
  /// Whether there is anything but FILE.
  bool more_than_a_file() const;
  /// The experiment file; empty without one.
  const std::string& file() const { return file_; }

 private:
  struct Given {
    std::vector<std::string> words;  ///< of one flag, in the order they came
    std::string truth;               ///< of a flag that needs no value: "true", or what was given
  };
  void declare_flag(CLI::App& app, const std::string& name, const std::string& value, const std::string& doc,
                    const std::string& group, bool optional_value);
  /// Of our own flags those that are named.
  void declare_some(CLI::App& app, const std::vector<std::string>& names);
  /// What needs no value, and --set.
  void declare_last(CLI::App& app);
  void declare_set(CLI::App& app);
  bool given(const std::string& name) const;
  /// Of a flag that needs no value.
  bool wanted(const std::string& name) const;
  void choose_mode(Settings& settings) const;
  void choose_evaluation(Settings& settings) const;

  std::string file_;
  std::vector<std::string> assignments_;
  bool no_fusion_ = false, no_replay_ = false, ranges_ = false, shadow_ = false;
  bool widen_ = false;
  bool save_weights_ = false;
  std::map<std::string, std::shared_ptr<Given>> given_;
};

/// A help text for the keys of the experiment file, a line each.
std::string keys_help();

}  // namespace ulpscope::profiler
