// What the columns of training logs are called, and what may stand in them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/error.h"
#include "profiler/import/training_log.h"

namespace ulpscope::profiler {
namespace {

struct Known {
  LogColumn column;
  const char* name;
};
/// Lower case, blanks and hyphens as underscores. Of Hugging Face, Lightning, Weights & Biases, nanoGPT, DeepSpeed, Megatron.
constexpr auto known = std::to_array<Known>({
    {LogColumn::step, "step"},
    {LogColumn::step, "global_step"},
    {LogColumn::step, "iteration"},
    {LogColumn::step, "iter"},
    {LogColumn::step, "train/global_step"},
    {LogColumn::step, "trainer/global_step"},
    {LogColumn::loss, "loss"},
    {LogColumn::loss, "train_loss"},
    {LogColumn::loss, "training_loss"},
    {LogColumn::loss, "train/loss"},
    {LogColumn::loss, "lm_loss"},
    {LogColumn::held_out_loss, "held_out_loss"},
    {LogColumn::held_out_loss, "eval_loss"},
    {LogColumn::held_out_loss, "eval/loss"},
    {LogColumn::held_out_loss, "val_loss"},
    {LogColumn::held_out_loss, "val/loss"},
    {LogColumn::held_out_loss, "validation_loss"},
    {LogColumn::learning_rate, "learning_rate"},
    {LogColumn::learning_rate, "train/learning_rate"},
    {LogColumn::learning_rate, "lr"},
    {LogColumn::loss_scale, "loss_scale"},
    {LogColumn::loss_scale, "train/loss_scale"},
    {LogColumn::loss_scale, "grad_scale"},
    {LogColumn::loss_scale, "scaler_scale"},
    {LogColumn::loss_scale, "scale"},
    {LogColumn::gradient_norm, "gradient_norm"},
    {LogColumn::gradient_norm, "grad_norm"},
    {LogColumn::gradient_norm, "train/grad_norm"},
    {LogColumn::gradient_norm, "gnorm"},
    {LogColumn::skipped, "skipped"},
    {LogColumn::skipped, "skip"},
    {LogColumn::skipped, "overflow"},
    {LogColumn::skipped, "found_inf"},
});

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

std::string lower(std::string_view text) {
  std::string out = trimmed(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c); });
  return out;
}

std::string plain(std::string_view text) {
  std::string out = lower(text);
  std::replace(out.begin(), out.end(), ' ', '_');
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string choices() {
  std::string all;
  for (int i = 0; i < log_column_count; ++i) all += fmt::format("{}{}", i > 0 ? ", " : "", name(static_cast<LogColumn>(i)));
  return all;
}

[[noreturn]] void refuse(const std::string& place, LogColumn column, std::string_view given, const char* why) {
  throw UsageError(fmt::format("{}: {} \"{}\" {}", place, name(column), given.substr(0, 60), why));
}

constexpr double most_steps = 0x1p53;

void set_number(LogRow& row, LogColumn column, double number, const std::string& place, std::string_view given) {
  switch (column) {
    case LogColumn::step:
      if (!(number >= 0.0 && number < most_steps) || number != std::floor(number)) refuse(place, column, given, "is no number of a step");
      row.step = static_cast<std::int64_t>(number);
      return;
    case LogColumn::skipped:
      if (number != 0.0 && number != 1.0) refuse(place, column, given, "is neither 0 nor 1");
      row.skipped = number == 1.0;
      return;
    case LogColumn::loss:
      row.loss = number;
      return;
    case LogColumn::held_out_loss:
      row.held_out_loss = number;
      return;
    default:
      break;
  }
  if (column == LogColumn::gradient_norm && number == -1.0) {   // DeepSpeed's get_global_grad_norm() of a norm that is inf or NaN
    row.gradient_norm = std::nan("");
    row.hidden_norm = true;
    return;
  }
  if (number < 0.0) refuse(place, column, given, "is less than 0");
  (column == LogColumn::learning_rate ? row.learning_rate : column == LogColumn::loss_scale ? row.loss_scale : row.gradient_norm) = number;
}

}  // namespace

std::string_view name(LogColumn column) {
  constexpr std::array<std::string_view, log_column_count> names{"step", "loss", "held_out_loss", "learning_rate", "loss_scale", "gradient_norm", "skipped"};
  return names[static_cast<std::size_t>(column)];
}

void add_columns(const std::string& words, LogOptions& options) {
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::string one = words.substr(begin, end - begin);
    const std::size_t equals = one.find('=');
    const std::string key = one.substr(0, equals);
    int found = -1;
    for (int i = 0; i < log_column_count; ++i)
      if (key == name(static_cast<LogColumn>(i))) found = i;
    if (found < 0) throw UsageError(fmt::format("--column {}: there is no \"{}\"; it takes {}, each with the name that the log has for it: loss=train_loss", one, key, choices()));
    if (equals == std::string::npos || trimmed(one.substr(equals + 1)).empty())
      throw UsageError(fmt::format("--column {}: the name that the log has for it is missing: {}=NAME", one, key));
    options.columns[static_cast<LogColumn>(found)] = one.substr(equals + 1);
    begin = end + 1;
  }
}

LogColumns::LogColumns(const LogOptions& options) : mapped_(options.columns) {}

std::optional<LogColumn> LogColumns::find(std::string_view name) const {
  const std::string exact = trimmed(name), word = plain(name);
  for (const auto& [column, given] : mapped_)
    if (exact == trimmed(given)) return column;
  const auto* const found = std::find_if(known.begin(), known.end(), [&](const Known& k) { return word == k.name; });
  if (found == known.end() || mapped_.contains(found->column)) return std::nullopt;
  return found->column;
}

std::optional<double> log_number(std::string_view given) {
  std::string text = lower(given);
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.erase(0, 1);
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "infinity") return minus ? -HUGE_VAL : HUGE_VAL;
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return std::nullopt;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  // A number that no double holds: what reads it would make infinity or zero of it.
  if (error == std::errc::result_out_of_range) value = text.find("e-") != std::string::npos ? 0.0 : HUGE_VAL;
  return minus ? -value : value;
}

void set_column(LogRow& row, LogColumn column, std::string_view text, const std::string& place) {
  const std::string word = lower(text);
  if (word.empty() || word == "none" || word == "null" || word == "n/a") return;
  if (column == LogColumn::skipped && (word == "true" || word == "yes")) {
    row.skipped = true;
  } else if (column == LogColumn::skipped && (word == "false" || word == "no")) {
    row.skipped = false;
  } else if (const auto number = log_number(text)) {
    set_number(row, column, *number, place, text);
  } else {
    refuse(place, column, text, "is no number (nan, inf and nothing are understood)");
  }
}

void set_column(LogRow& row, LogColumn column, const JsonField& value, const std::string& place) {
  switch (value.kind) {
    case JsonField::Kind::none:
      return;
    case JsonField::Kind::text:
      return set_column(row, column, std::string_view(value.text), place);
    case JsonField::Kind::number:
      return set_number(row, column, value.number, place, fmt::format("{:g}", value.number));
    case JsonField::Kind::truth:
      if (column == LogColumn::skipped) return set_number(row, column, value.number, place, "");
      return refuse(place, column, value.number == 0.0 ? "false" : "true", "is no number");
    case JsonField::Kind::other:
      return refuse(place, column, "[…]", "is no number but a list");
  }
}

}  // namespace ulpscope::profiler
