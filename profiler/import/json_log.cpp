// Training logs as JSON: one object on each line, or the log_history of Hugging Face's Trainer.
#include <fmt/format.h>

#include <set>

#include "kernels/error.h"
#include "profiler/import/training_log.h"

namespace ulpscope::profiler {
namespace {

/// A row of an object. False: nothing that is read is in it.
bool row_of(const JsonObject& object, const LogColumns& columns, const std::string& place, LogRow& row, TrainingLog& log, std::set<LogColumn>& seen) {
  std::set<LogColumn> here;
  std::vector<const std::string*> others;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto column = columns.find(object[i].key);
    if (!column || here.contains(*column)) {
      others.push_back(&object[i].key);
      continue;
    }
    here.insert(*column);
    set_column(row, *column, object[i], place);
  }
  seen.insert(here.begin(), here.end());
  if (!row.of_a_step() && !row.held_out_loss) {
    ++log.ignored["entries that say nothing of what is read"];
    return false;
  }
  for (const std::string* key : others)
    if (log.ignored.size() < 200 || log.ignored.contains("column " + *key)) ++log.ignored["column " + *key];
  ++log.entries;
  return true;
}

void refuse_unseen(const Input& input, const LogColumns& columns, const std::set<LogColumn>& seen) {
  for (const auto& [column, given] : columns.mapping())
    if (!seen.contains(column)) throw UsageError(fmt::format("--column {}={}: nothing in {} is called so", name(column), given, input.name()));
}

class HistoryListener final : public JsonListener {
 public:
  HistoryListener(const Input& input, const LogOptions& options, TrainingLog& log) : input_(input), columns_(options), log_(log) {}
  bool top(const JsonField& field) override {
    if (field.key == "max_steps" && field.is_whole && field.whole > 0) log_.planned = field.whole;
    if (field.key == "global_step" && field.is_whole && field.whole >= 0) log_.reached = field.whole;
    return true;
  }
  bool array(const std::string& name) override {
    found_ = found_ || name.empty() || name == "log_history";
    return true;
  }
  bool element(const std::string& array, const JsonObject& object) override {
    if (!array.empty() && array != "log_history") return true;
    ++entry_;
    // The last entry sums the whole training up: its train_loss is the mean over all steps.
    if (object.find("train_runtime") != nullptr) {
      ++log_.ignored["summary of the training"];
      return true;
    }
    LogRow row;
    if (row_of(object, columns_, fmt::format("{}: entry {} of log_history", input_.name(), entry_), row, log_, seen_)) log_.rows.push_back(row);
    return true;
  }
  void stray(const std::string& array) override {
    if (array.empty() || array == "log_history") throw UsageError(fmt::format("{}: entry {} of log_history is no object", input_.name(), entry_ + 1));
  }
  void finish() const {
    if (!found_) throw UsageError(fmt::format("{}: there is no log_history in it", input_.name()));
    refuse_unseen(input_, columns_, seen_);
  }

 private:
  const Input& input_;
  LogColumns columns_;
  TrainingLog& log_;
  std::set<LogColumn> seen_;
  std::int64_t entry_ = 0;
  bool found_ = false;
};

}  // namespace

TrainingLog read_json_lines(Input& input, const LogOptions& options) {
  TrainingLog log{.format = "JSON lines"};
  const LogColumns columns(options);
  std::set<LogColumn> seen;
  std::string line;
  JsonObject object;
  bool whole = true;
  while (input.line(line, &whole)) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string place = fmt::format("{}: line {}", input.name(), input.line_number());
    if (!parse_json_line(line, object)) {
      if (!whole) {
        log.cut_off = true;
        break;
      }
      throw UsageError(place + ": no JSON object");
    }
    LogRow row{.line = input.line_number()};
    if (row_of(object, columns, place, row, log, seen)) log.rows.push_back(row);
  }
  refuse_unseen(input, columns, seen);
  return log;
}

TrainingLog read_trainer_state(Input& input, const LogOptions& options) {
  TrainingLog log{.format = "log_history of Hugging Face's Trainer", .hides_losses = true};
  HistoryListener listener(input, options, log);
  read_json(input, listener);
  listener.finish();
  return log;
}

}  // namespace ulpscope::profiler
