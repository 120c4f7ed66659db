// Reads experiments: a TOML file, values given on the command line, or both; and writes them out with every value
// filled in.
//
//   Settings settings;
//   settings.add_file("gpt.toml");
//   settings.add_words("train.lr", "1e-3", "--set train.lr=1e-3");   // overrides what was added before
//   Experiment experiment = settings.build();
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.h"
#include "profiler/experiment/graph_tables.h"
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {

/// Whether a file is an SQLite database, as every run file is. False for one that cannot be read.
bool is_run_file(const std::string& path);

/// Values from several places; what is added later wins. Every mistake is a UsageError that names its place
/// ("gpt.toml:12",
/// "--set train.lr=x"), the key, and the valid choices or the nearest valid name.
class Settings {
 public:
  /// Tables [model], [data], [train], [train.scaler], [run], and [[node]], [[override]], [[rewrite]], [[inject]]. Data paths are relative to the file's folder.
  void add_file(const std::string& path);
  /// The same from a text; `path` names it in messages, and its folder is what data paths are relative to.
  void add_text(std::string_view toml, const std::string& path);
  /// A value in words, from a flag or --set.
  void add_words(std::string_view key, std::string_view words, const std::string& where);
  void add_value(std::string_view key, KeyValue value, const std::string& where);
  /// "train.lr=1e-3", as given to --set.
  void add_assignment(const std::string& assignment);

  bool has(std::string_view key) const;

  /// Calls `work`, which finds out whether patterns of nodes match and first weights fit: its UsageError about a key gets the key's
  /// place.
  template <class Work>
  auto placed(Work&& work) const {
    try {
      return work();
    } catch (const UsageError& error) {
      throw UsageError(with_place(error.what()));
    }
  }

  /// Sets every value, model.kind first, starting from the defaults. Checks what one value alone cannot show: sizes
  /// that do not fit together, a scale that is both fixed and dynamic. Whether there is data is for those who need
  /// some.
  Experiment build() const;

 private:
  struct Given {
    const Key* key;
    KeyValue value;
    std::string where;
  };
  /// train.scaler.fixed stands alone. Throws UsageError naming what it was given with.
  void check_fixed_scale() const;
  std::string with_place(const std::string& message) const;
  /// The graph, the overrides and injections. Throws UsageError for nodes without model.kind = "graph".
  void set_tables(Experiment& experiment) const;
  /// A graph that makes its own batches says how large they are. Throws UsageError for another train.batch.
  void set_graph_batch(Experiment& experiment) const;
  std::vector<Given> given_;
  GraphTables tables_;
  std::string name_;
};

/// The experiment as TOML, every key that applies with its value. Reads back to the same experiment; data paths are
/// absolute.
std::string to_toml(const Experiment& experiment);

}  // namespace ulpscope::profiler
