// Keys whose value is one of a few, by name.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {

/// A key whose value is an enumerator, by name.
template <class Enum, std::size_t count>
Key choice_key(std::string name, std::string doc, std::array<std::pair<const char*, Enum>, count> choices,
               std::function<Enum&(Experiment&)> slot) {
  Key key;
  key.name = std::move(name);
  key.type = KeyType::text;
  key.doc = std::move(doc);
  key.choices = [choices] {
    std::vector<std::string> names;
    for (const auto& [word, value] : choices) names.emplace_back(word);
    return names;
  };
  key.set = [choices, slot](Experiment& e, const KeyValue& value) {
    for (const auto& [word, enumerator] : choices) {
      if (std::get<std::string>(value) == word) slot(e) = enumerator;
    }
  };
  key.get = [choices, slot](const Experiment& e) -> std::optional<KeyValue> {
    for (const auto& [word, enumerator] : choices) {
      if (slot(const_cast<Experiment&>(e)) == enumerator) return KeyValue(std::string(word));
    }
    return std::nullopt;
  };
  return key;
}

}  // namespace ulpscope::profiler
