#include "profiler/experiment/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "profiler/experiment/key_parts.h"

namespace ulpscope::profiler {
namespace {

template <class T>
Key slot_key(std::string name, KeyType type, std::string doc, Slot<T> slot) {
  Key key;
  key.name = std::move(name);
  key.type = type;
  key.doc = std::move(doc);
  // A slot reads members only; constness is cast away to have one function for reading and writing.
  key.applies = [slot](const Experiment& e) { return slot(const_cast<Experiment&>(e)) != nullptr; };
  key.set = [slot](Experiment& e, const KeyValue& value) { *slot(e) = std::get<T>(value); };
  key.get = [slot](const Experiment& e) -> std::optional<KeyValue> {
    const T* const value = slot(const_cast<Experiment&>(e));
    if (value == nullptr) return std::nullopt;
    return KeyValue(*value);
  };
  return key;
}

std::string table_of(std::string_view name) { return std::string(name.substr(0, name.rfind('.'))); }

std::string describe_value(const KeyValue& value) { return to_toml(value); }

/// The value as the key's type, widened where that loses nothing.
KeyValue widened(const Key& key, const KeyValue& value, const std::string& where) {
  if (value.index() == static_cast<std::size_t>(key.type)) return value;
  if (key.type == KeyType::number && std::holds_alternative<std::int64_t>(value)) {
    return static_cast<double>(std::get<std::int64_t>(value));
  }
  if (key.type == KeyType::integer && std::holds_alternative<double>(value)) {
    const double number = std::get<double>(value);  // 1e3 is a whole number to everybody but TOML
    const bool whole = number == std::floor(number);
    if (whole && std::fabs(number) <= 0x1p53) return static_cast<std::int64_t>(number);
    if (whole)
      throw UsageError(fmt::format("{}: {} = {} is out of range: it takes {}", where, key.name, describe_value(value),
                                   describe_type(key)));
  }
  if (key.type == KeyType::texts && std::holds_alternative<std::string>(value)) {
    return std::vector<std::string>{std::get<std::string>(value)};
  }
  throw UsageError(fmt::format("{}: {} = {} has the wrong type: it takes {}", where, key.name, describe_value(value),
                               describe_type(key)));
}

void check_range(const Key& key, const KeyValue& value, const std::string& where) {
  if (key.type != KeyType::integer && key.type != KeyType::number) return;
  const double number =
      key.type == KeyType::integer ? static_cast<double>(std::get<std::int64_t>(value)) : std::get<double>(value);
  if (!std::isfinite(number))
    throw UsageError(fmt::format("{}: {} = {} is no finite number: it takes {}", where, key.name, describe_value(value), describe_type(key)));
  const Range& r = key.range;
  const bool inside = (number > r.least || (r.least_allowed && number == r.least)) &&
                      (number < r.greatest || (r.greatest_allowed && number == r.greatest));
  if (inside) return;
  throw UsageError(fmt::format("{}: {} = {} is out of range: it must be {}", where, key.name, describe_value(value), describe(r)));
}

void check_choice(const Key& key, const KeyValue& value, const std::string& where) {
  if (!key.choices) return;
  const std::vector<std::string> choices = key.choices();
  const auto check = [&](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return;
    throw UsageError(fmt::format("{}: {} = {} is not known; did you mean \"{}\"? It takes {}", where, key.name,
                                 describe_value(text), nearest(text, choices), describe_type(key)));
  };
  if (key.type == KeyType::text) check(std::get<std::string>(value));
  if (key.type == KeyType::texts) {
    for (const std::string& text : std::get<std::vector<std::string>>(value)) check(text);
  }
}

std::vector<std::string> split_list(std::string_view words) {
  std::vector<std::string> parts;
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    std::string_view part = words.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) break;
    words.remove_prefix(comma + 1);
  }
  return parts;
}

/// Out of range counts as no number: `out_of_range` says so.
template <class T>
std::optional<T> parse_number(std::string_view words, bool& out_of_range) {
  T number{};
  if (!words.empty() && words.front() == '+') words.remove_prefix(1);
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), number);
  out_of_range = error == std::errc::result_out_of_range && end == words.data() + words.size();
  if (error != std::errc() || end != words.data() + words.size()) return std::nullopt;
  return number;
}

/// A TOML array or quoted string on the command line: --set 'run.modes=["fp32","fp16"]'.
std::optional<KeyValue> parse_toml_words(std::string_view words) {
  if (words.empty() || (words.front() != '[' && words.front() != '"' && words.front() != '\'')) return std::nullopt;
  if (line_of_long_key(words)) return std::nullopt;
  try {
    const toml::table table = toml::parse(fmt::format("x = {}", words));
    if (const auto* text = table.get_as<std::string>("x")) return KeyValue(text->get());
    const toml::array* array = table.get_as<toml::array>("x");
    if (array == nullptr) return std::nullopt;
    std::vector<std::string> texts;
    for (const toml::node& node : *array) {
      if (!node.is_string()) return std::nullopt;
      texts.push_back(node.as_string()->get());
    }
    return KeyValue(texts);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = [] {
    std::vector<Key> list = model_keys();
    for (Key& key : train_keys()) list.push_back(std::move(key));
    for (Key& key : observe_keys()) list.push_back(std::move(key));
    for (Key& key : data_and_run_keys()) list.push_back(std::move(key));
    return list;
  }();
  return all;
}

const Key& find_key(std::string_view name, const std::string& where) {
  for (const Key& key : keys()) {
    if (key.name == name) return key;
  }
  // The nearest by name, among what others call the keys too; then the keys of the table it is in.
  std::vector<std::string> names, meant;
  const auto add = [&](std::string alias, const std::string& key) {
    names.push_back(std::move(alias));
    meant.push_back(key);
  };
  for (const Key& key : keys()) {
    add(key.name, key.name);
    for (const std::string& other : key.also) add(table_of(key.name) + "." + other, key.name);
  }
  // A key without its table is compared without tables.
  std::vector<std::string> compared = names;
  if (name.find('.') == std::string_view::npos) {
    for (std::string& n : compared) n = n.substr(n.rfind('.') + 1);
  }
  const std::string close = nearest(name, compared);
  const auto at = static_cast<std::size_t>(std::find(compared.begin(), compared.end(), close) - compared.begin());
  const std::string& suggestion = meant.at(at);
  const std::string table = table_of(suggestion);
  std::vector<std::string> siblings;
  for (const Key& key : keys()) {
    if (table_of(key.name) == table) siblings.push_back(key.name.substr(table.size() + 1));
  }
  throw UsageError(fmt::format("{}: unknown key {}; did you mean {}? Keys of [{}]: {}", where, name, suggestion, table,
                               fmt::join(siblings, ", ")));
}

void set_key(Experiment& experiment, const Key& key, const KeyValue& value, const std::string& where) {
  if (key.applies && !key.applies(experiment)) {
    std::vector<std::string> valid;
    for (const Key& other : keys()) {
      if (table_of(other.name) == table_of(key.name) && (!other.applies || other.applies(experiment))) {
        valid.push_back(other.name);
      }
    }
    throw UsageError(fmt::format("{}: {} is not a key of model \"{}\"; its keys: {}", where, key.name,
                                 engine::name(experiment.model), fmt::join(valid, ", ")));
  }
  const KeyValue right = widened(key, value, where);
  check_range(key, right, where);
  check_choice(key, right, where);
  try {
    key.set(experiment, right);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}: {}", where, key.name, error.what()));
  }
}

KeyValue parse_words(const Key& key, std::string_view words, const std::string& where) {
  bool out_of_range = false;
  const auto wrong = [&]() -> UsageError {
    if (out_of_range)
      return UsageError(fmt::format("{}: {} = {} is out of the range of 64 bits: it takes {}", where, key.name, words,
                                    describe_type(key)));
    return UsageError(
        fmt::format("{}: {} = \"{}\" has the wrong type: it takes {}", where, key.name, words, describe_type(key)));
  };
  switch (key.type) {
    case KeyType::flag:
      for (const char* yes : {"true", "True", "1", "yes", "on"})
        if (words == yes) return true;
      for (const char* no : {"false", "False", "0", "no", "off"})
        if (words == no) return false;
      throw wrong();
    case KeyType::integer:
      if (const auto number = parse_number<std::int64_t>(words, out_of_range)) return *number;
      if (const auto number = parse_number<double>(words, out_of_range)) return widened(key, *number, where);
      throw wrong();
    case KeyType::number:
      if (const auto number = parse_number<double>(words, out_of_range)) return *number;
      throw wrong();
    case KeyType::text:
      if (const auto quoted = parse_toml_words(words); quoted && std::holds_alternative<std::string>(*quoted))
        return *quoted;
      return std::string(words);
    case KeyType::texts:
      if (const auto list = parse_toml_words(words)) return *list;
      return split_list(words);
  }
  throw wrong();
}

std::string to_toml(const KeyValue& value) {
  std::ostringstream out;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) {
    std::string text = fmt::format("{}", *number);  // the shortest that reads back to the same number
    const bool looks_whole = text.find_first_of(".enia") == std::string::npos;
    return looks_whole ? text + ".0" : text;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    out << toml::default_formatter(toml::value<std::string>(*text), toml::format_flags::none);
    return out.str();
  }
  std::string list;
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    list += (list.empty() ? "" : ", ") + to_toml(KeyValue(text));
  }
  return "[" + list + "]";
}

std::string describe_type(const Key& key) {
  const std::string choices = key.choices ? fmt::format("{}", fmt::join(key.choices(), ", ")) : "";
  const std::string limits = describe(key.range);
  const std::string limited = limits.empty() ? "" : ", " + limits;
  switch (key.type) {
    case KeyType::flag:
      return "true or false";
    case KeyType::integer:
      return "a whole number" + limited;
    case KeyType::number:
      return "a number" + limited;
    case KeyType::text:
      return choices.empty() ? "a text" : "one of " + choices;
    case KeyType::texts:
      return choices.empty() ? "a text or a list of texts" : "a list of " + choices;
  }
  return "";
}

std::string describe(const Range& range) {
  std::string text;
  if (std::isfinite(range.least))
    text = fmt::format("{} {}", range.least_allowed ? "at least" : "greater than", range.least);
  if (std::isfinite(range.greatest)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ", range.greatest_allowed ? "at most" : "less than",
                        range.greatest);
  }
  return text;
}

Key integer_key(std::string name, std::string doc, Range range, Slot<std::int64_t> slot) {
  Key key = slot_key(std::move(name), KeyType::integer, std::move(doc), std::move(slot));
  key.range = range;
  return key;
}

Key number_key(std::string name, std::string doc, Range range, Slot<double> slot) {
  Key key = slot_key(std::move(name), KeyType::number, std::move(doc), std::move(slot));
  key.range = range;
  return key;
}

Key flag_key(std::string name, std::string doc, Slot<bool> slot) {
  return slot_key(std::move(name), KeyType::flag, std::move(doc), std::move(slot));
}

Key text_key(std::string name, std::string doc, std::vector<std::string> choices, Slot<std::string> slot) {
  Key key = slot_key(std::move(name), KeyType::text, std::move(doc), std::move(slot));
  if (!choices.empty()) key.choices = [choices] { return choices; };
  return key;
}

Key texts_key(std::string name, std::string doc, Slot<std::vector<std::string>> slot) {
  return slot_key(std::move(name), KeyType::texts, std::move(doc), std::move(slot));
}

}  // namespace ulpscope::profiler
