// A log of a training that somebody else ran: losses, loss scales, gradient norms, skipped steps. Whatever its form, it becomes rows here, and
// rows become a run (log_run.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/import/input.h"
#include "profiler/import/json_objects.h"
#include "reports/run_file/values.h"

namespace ulpscope::profiler {

/// What a column can be.
enum class LogColumn : std::uint8_t { step, loss, held_out_loss, learning_rate, loss_scale, gradient_norm, skipped };
inline constexpr int log_column_count = 7;
/// "loss", "gradient_norm": as --column takes it.
std::string_view name(LogColumn column);

struct LogOptions {
  /// What the user said: the log calls it so.
  std::map<LogColumn, std::string> columns{};
  /// The log has an entry every so many steps, where it does not number them.
  std::optional<std::int64_t> every{};
};

/// "loss=train_loss", or several with commas between. Throws UsageError that names the choices.
void add_columns(const std::string& words, LogOptions& options);

/// Names by which logs call a column, lower case: of the user's mapping alone where there is one.
class LogColumns {
 public:
  explicit LogColumns(const LogOptions& options);
  /// Nothing: it is none of them.
  std::optional<LogColumn> find(std::string_view name) const;
  /// Whether the user named it.
  bool mapped(LogColumn column) const { return mapped_.contains(column); }
  const std::map<LogColumn, std::string>& mapping() const { return mapped_; }

 private:
  std::map<LogColumn, std::string> mapped_;
};

struct LogRow {
  std::int64_t line = 0;                ///< of the file, from 1; 0: it has none
  std::optional<std::int64_t> step{};   ///< as the log counts
  reports::Number loss{}, held_out_loss{}, learning_rate{}, loss_scale{}, gradient_norm{};
  reports::Number next_scale{};         ///< that the log says the step ends with
  std::optional<bool> skipped{};
  bool hidden_norm = false;             ///< the log says -1 for the gradient norm, and NaN stands here

  bool of_a_step() const { return loss || loss_scale || gradient_norm || skipped || learning_rate; }
};

struct TrainingLog {
  std::string format{};                             ///< "CSV", "Hugging Face trainer_state.json"
  std::vector<LogRow> rows{};                       ///< as they stand in the file
  std::map<std::string, std::int64_t> ignored{};    ///< what is not read → how often it was there
  std::vector<std::string> notes{};
  std::int64_t entries = 0;                         ///< rows or lines that were understood
  std::int64_t ranks_left_out = 0;                  ///< lines of other ranks that say the same
  bool cut_off = false;                             ///< the last line has no end and is no whole row: left out
  bool stopped_at_floor = false;                    ///< "Current loss scale already at minimum"
  bool hides_losses = false;                       ///< see reports::Imported
  std::optional<std::int64_t> told_step{}, told_skips{};   ///< by a "step=10, skipped=2" of DeepSpeed, the last: steps done, of them skipped
  std::int64_t skips_before_told = 0;               ///< lines of a skipped step before it
  std::optional<std::int64_t> planned{}, reached{}; ///< steps, where the log says so
};

/// A number as logs write it: nan, NaN, inf, -Infinity, +1e-3 among them; nothing if it is none.
std::optional<double> log_number(std::string_view text);

/// What stands in a row under a name. Throws UsageError "PLACE: loss \"abc\" is no number".
void set_column(LogRow& row, LogColumn column, const JsonField& value, const std::string& place);
void set_column(LogRow& row, LogColumn column, std::string_view text, const std::string& place);

/// All throw UsageError for what is no such log, or damaged, with the line or byte.
TrainingLog read_csv_log(Input& input, const LogOptions& options);
TrainingLog read_json_lines(Input& input, const LogOptions& options);
/// trainer_state.json, or its log_history alone.
TrainingLog read_trainer_state(Input& input, const LogOptions& options);
/// What a program printed: {'loss': …} of Hugging Face's Trainer, DeepSpeed's OVERFLOW lines; everything else is counted.
TrainingLog read_printed_log(Input& input, const LogOptions& options);

/// The cells of a line of CSV, quotes taken off; false: a quote does not end.
bool split_csv(std::string_view line, char separator, std::vector<std::string>& cells);
/// What separates the cells of this heading; nothing: it names no column that is known.
std::optional<char> csv_separator(std::string_view heading, const LogColumns& columns);
/// A heading of several cells, and below it as many numbers: whatever they are called.
std::optional<char> csv_separator_of_numbers(std::string_view heading, std::string_view row);

}  // namespace ulpscope::profiler
