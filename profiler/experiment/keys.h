// The keys of the experiment file: one table drives parsing, --set, error messages, help and the written-out
// configuration.
//
// To add a key, add a line to the table of its section (keys_model.cpp, keys_train.cpp, keys_observe.cpp, keys_run.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "profiler/experiment/experiment.h"

namespace ulpscope::profiler {

enum class KeyType : std::uint8_t { flag, integer, number, text, texts };

/// A value of a key; the alternatives are in the order of KeyType. An integer is accepted where a number is wanted, a
/// text where texts are.
using KeyValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// Greatest and least value allowed.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
  bool least_allowed = true;  ///< false: the value must be greater than `least`
  bool greatest_allowed = true;
};

struct Key {
  std::string name;  ///< "train.lr": table and key
  KeyType type = KeyType::integer;
  std::string doc;                                    ///< for help, half a line
  Range range;                                        ///< integers and numbers
  std::function<std::vector<std::string>()> choices;  ///< texts with a fixed set of values; else null
  std::vector<std::string> also;                      ///< what others call it; suggested, not accepted
  /// Sets the value; it has the right type, range and choice. Throws UsageError for what only the setter can know.
  std::function<void(Experiment&, const KeyValue&)> set;
  /// The value; nothing if the key does not apply to this experiment (a key of another model, an unset output).
  std::function<std::optional<KeyValue>(const Experiment&)> get;
  /// Whether the key may be set, given model.kind. Null: always.
  std::function<bool(const Experiment&)> applies;
};

/// Every key, table by table.
const std::vector<Key>& keys();

/// Throws UsageError "<where>: unknown key …" with the nearest valid key and the keys of its table.
const Key& find_key(std::string_view name, const std::string& where);

/// Sets one key. Throws UsageError "<where>: …" for a wrong type, a value out of range, a choice that does not exist, a
/// key that does not belong to the experiment's model.
void set_key(Experiment& experiment, const Key& key, const KeyValue& value, const std::string& where);

/// A value from words on a command line: "1e-3", "true", "fp32,fp16", ["a", "b"]. Throws as set_key for a wrong type.
KeyValue parse_words(const Key& key, std::string_view words, const std::string& where);

/// As TOML: 0.001, "gpt", ["fp32", "fp16"].
std::string to_toml(const KeyValue& value);

/// "a whole number", "one of gpt, mlp" …
std::string describe_type(const Key& key);
/// "at least 1", "greater than 0 and at most 1"; empty for the whole line.
std::string describe(const Range& range);

// ---- the sections of the table
std::vector<Key> model_keys();
std::vector<Key> data_and_run_keys();
std::vector<Key> observe_keys();
std::vector<Key> train_keys();
std::vector<Key> step_keys();     ///< part of train_keys: how a step is made of micro-batches, its formats, its update
std::vector<Key> scaler_keys();   ///< part of train_keys

// ---- makers of keys whose value is a member, found by `slot`; a null slot means that the key does not apply
template <class T>
using Slot = std::function<T*(Experiment&)>;

Key integer_key(std::string name, std::string doc, Range range, Slot<std::int64_t> slot);
Key number_key(std::string name, std::string doc, Range range, Slot<double> slot);
Key flag_key(std::string name, std::string doc, Slot<bool> slot);
Key text_key(std::string name, std::string doc, std::vector<std::string> choices, Slot<std::string> slot);
Key texts_key(std::string name, std::string doc, Slot<std::vector<std::string>> slot);

/// The key with what others call it.
inline Key also(Key key, std::vector<std::string> names) {
  key.also = std::move(names);
  return key;
}

inline constexpr double no_limit = std::numeric_limits<double>::infinity();
inline Range at_least(double least) { return {.least = least}; }
inline Range more_than(double least) { return {.least = least, .least_allowed = false}; }
inline Range between(double least, double greatest) { return {.least = least, .greatest = greatest}; }
/// least <= x < greatest
inline Range below(double least, double greatest) {
  return {.least = least, .greatest = greatest, .least_allowed = true, .greatest_allowed = false};
}

}  // namespace ulpscope::profiler
