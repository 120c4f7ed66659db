#include "profiler/import/megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

/// Of all lines: each becomes a row, and more are no log.
constexpr std::int64_t most_skipped = 2'000'000;

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A whole number at the beginning of a text, blanks before it; it is taken off.
std::optional<std::int64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > std::int64_t{1} << 53) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct Head {
  std::int64_t iteration = 0;
  std::optional<std::int64_t> planned{};
  std::string_view fields{};
};

/// "iteration 20/ 500 | …", wherever in the line.
std::optional<Head> interval_head(std::string_view line) {
  constexpr std::string_view word = "iteration ";
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    std::string_view rest = line.substr(at + word.size());
    Head head;
    const auto iteration = take_number(rest);
    if (!iteration || !rest.starts_with('/')) continue;
    rest.remove_prefix(1);
    head.planned = take_number(rest);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!head.planned || !rest.starts_with('|')) continue;
    head.iteration = *iteration;
    head.fields = rest.substr(1);
    return head;
  }
  return std::nullopt;
}

std::optional<Head> validation_head(std::string_view line) {
  for (const std::string_view words : {"validation loss at iteration ", "validation results at iteration "}) {
    const std::size_t at = line.find(words);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + words.size());
    const auto iteration = take_number(rest);
    const std::size_t bar = rest.find('|');
    if (iteration && bar != std::string_view::npos) return Head{.iteration = *iteration, .fields = rest.substr(bar + 1)};
  }
  return std::nullopt;
}

/// each(key, value) for "key: value | key: value |".
template <class Each>
void for_each_field(std::string_view fields, Each&& each) {
  while (!fields.empty()) {
    const std::size_t bar = std::min(fields.find('|'), fields.size());
    const std::string_view field = fields.substr(0, bar);
    fields.remove_prefix(std::min(bar + 1, fields.size()));
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos) each(without_blanks(field.substr(0, colon)), without_blanks(field.substr(colon + 1)));
  }
}

std::int64_t whole(std::string_view value, std::string_view key, const std::string& place) {
  std::string_view rest = value;
  const auto number = take_number(rest);
  if (!number || !rest.empty()) throw UsageError(fmt::format("{}: {} \"{}\" is no whole number", place, key, value.substr(0, 60)));
  return *number;
}

}  // namespace

bool is_megatron_line(std::string_view line) { return interval_head(line).has_value(); }

bool MegatronLines::take(std::string_view line, std::int64_t number, const std::string& place, std::set<LogColumn>& seen, TrainingLog& log) {
  if (const auto head = validation_head(line)) {
    LogRow row{.line = number, .step = head->iteration};
    for_each_field(head->fields, [&](std::string_view key, std::string_view value) {
      constexpr std::string_view suffix = " value";
      if (!key.ends_with(suffix) || row.held_out_loss) return;
      const auto column = columns_.find(key.substr(0, key.size() - suffix.size()));
      if (column == LogColumn::loss) set_column(row, LogColumn::held_out_loss, value, place);
    });
    if (!row.held_out_loss) return false;
    log.rows.push_back(row);
    ++log.entries;
    ++validations_;
    return true;
  }
  const auto head = interval_head(line);
  if (!head) return false;
  Interval interval{.row = {.line = number, .step = head->iteration}};
  for_each_field(head->fields, [&](std::string_view key, std::string_view value) {
    if (key == "number of skipped iterations") {
      interval.skipped = whole(value, key, place);
      skipped_ = std::min(most_skipped, skipped_) + std::min(most_skipped, *interval.skipped);
      if (skipped_ >= most_skipped) throw UsageError(fmt::format("{}: {} more skipped iterations: more than {} in all are not believed", place, *interval.skipped, most_skipped));
    } else if (key == "number of nan iterations") {
      interval.with_nan = whole(value, key, place);
    } else if (const auto column = columns_.find(key); column && *column != LogColumn::step && *column != LogColumn::skipped) {
      set_column(interval.row, *column, value, place);
      seen.insert(*column);
    } else if (log.ignored.size() < 200) {
      ++log.ignored[fmt::format("column {}", key)];
    }
  });
  log.planned = head->planned;
  log.reached = std::max(log.reached.value_or(0), head->iteration);
  intervals_.push_back(interval);
  ++log.entries;
  return true;
}

/// From the line before; of the first, and after a restart, as many as most others have.
void MegatronLines::count_steps() {
  std::map<std::int64_t, std::int64_t> often;
  for (std::size_t i = 1; i < intervals_.size(); ++i)
    if (const std::int64_t steps = *intervals_[i].row.step - *intervals_[i - 1].row.step; steps > 0) ++often[steps];
  const auto most = std::max_element(often.begin(), often.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const std::int64_t at = *intervals_[i].row.step, before = i > 0 ? *intervals_[i - 1].row.step : at;
    const std::int64_t usual = most == often.end() ? at : most->first;
    intervals_[i].steps = std::max<std::int64_t>(1, at > before ? at - before : std::min(usual, at));
  }
}

void MegatronLines::add_rows(const Interval& interval, reports::Number scale_before, bool losses, TrainingLog& log) {
  const std::int64_t last = *interval.row.step, skipped = std::min(interval.skipped.value_or(0), interval.steps);
  if (skipped > 0 && skipped < interval.steps) placed_skips_ += skipped;
  for (std::int64_t i = 0; i < skipped; ++i) {
    LogRow row{.line = interval.row.line, .step = last - interval.steps + 1 + i, .skipped = true};
    if (i < interval.with_nan) row.loss = std::nan("");
    if (i == 0) row.loss_scale = scale_before;  // what the interval before ended with
    if (row.step != last) {
      log.rows.push_back(row);
      continue;
    }
    row.gradient_norm = interval.row.gradient_norm;
    row.learning_rate = interval.row.learning_rate;
    row.next_scale = interval.row.loss_scale;
    log.rows.push_back(row);
    return;
  }
  LogRow row = interval.row;
  if (interval.skipped) row.skipped = false;
  row.next_scale = interval.row.loss_scale;
  if (interval.steps == 1 && scale_before) row.loss_scale = scale_before;
  if (!row.loss && losses) {
    row.loss = std::nan("");
    ++missing_losses_;
  }
  log.rows.push_back(row);
}

void MegatronLines::finish(TrainingLog& log) {
  count_steps();
  const bool losses = std::any_of(intervals_.begin(), intervals_.end(), [](const Interval& i) { return i.row.loss.has_value(); });
  const bool several = std::any_of(intervals_.begin(), intervals_.end(), [](const Interval& i) { return i.steps > 1; });
  reports::Number before;
  std::optional<std::int64_t> last;
  for (const Interval& interval : intervals_) {
    if (last && *interval.row.step <= *last) before = std::nullopt;   // a restart: what its scale was is not on record
    last = interval.row.step;
    add_rows(interval, before, losses, log);
    before = interval.row.loss_scale;
  }
  if (intervals_.empty()) return;
  if (several) log.notes.emplace_back("an entry stands for the steps since the one before: its loss is the mean of those that were applied");
  if (placed_skips_ > 0) log.notes.push_back(fmt::format("which steps of an entry were skipped is not said: its first ones stand for them ({} in all)", placed_skips_));
  if (missing_losses_ > 0) log.notes.push_back(fmt::format("losses that an entry lacks are read as NaN: {} (inferred: this program prints a mean above 0 and no other)", missing_losses_));
  if (!losses) log.notes.emplace_back("no entry has a loss; --column loss=NAME says how it is called");
}

}  // namespace ulpscope::profiler
