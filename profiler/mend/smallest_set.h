// Delta debugging (Zeller and Hildebrandt's ddmin): from a set that works to one from which no member can be taken.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ulpscope::profiler {

enum class Answer { works, fails, unknown };   ///< unknown: there is no time to find out

struct SmallestSet {
  std::vector<std::string> members{};   ///< works
  bool minimal = false;                 ///< without any member it fails, and every such set was tried; false: time ran out
};

/// all: works, and is not tried again; the empty set fails. No set is asked for twice. Order of the members is kept.
SmallestSet smallest_set(const std::vector<std::string>& all, const std::function<Answer(const std::vector<std::string>&)>& ask);

/// The set without its i-th member.
std::vector<std::string> without(const std::vector<std::string>& set, std::size_t i);

}  // namespace ulpscope::profiler
