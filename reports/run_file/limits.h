// What a number in a run file can be. A file that says otherwise is damaged: no analysis has to reckon with a negative
// size or a share of 3.
//
// Whole numbers (ids, steps, counts, bytes) are 0 to 2^53 and floating-point numbers anything, unless limits.cpp says
// otherwise. A column that is added needs a line there only if that is wrong for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

struct Signature;

struct Limits {
  double least;
  double greatest;
  bool of_elements = false;  ///< at most `elements` of the same row
};

/// Of a column. floating: of floating-point numbers.
Limits limits_of(std::string_view table, std::string_view column, bool floating);

/// What a column holds that it cannot, and what it takes: "-3; it takes 0 or more". Nothing if it can.
/// elements: of the row; unknown if it has none.
std::optional<std::string> impossible_count(const Limits& limits, std::int64_t value, Count elements);
std::optional<std::string> impossible_number(const Limits& limits, double value);
std::optional<std::string> impossible(const std::vector<std::int64_t>& shape);
std::optional<std::string> impossible(const std::vector<Signature>& signatures);
std::optional<std::string> impossible(const ExponentHistogram& histogram, Count elements);
std::optional<std::string> impossible(const TensorRanges& ranges);

/// The same for a member of a record, whatever its type; words and texts are looked at where they are read.
template <class T>
std::optional<std::string> impossible_member(const Limits& limits, const T& member, Count elements) {
  if constexpr (std::is_same_v<T, double>) {
    return impossible_number(limits, member);
  } else if constexpr (std::is_same_v<T, ExponentHistogram>) {
    return impossible(member, elements);
  } else if constexpr (requires { member.has_value(); }) {
    return member ? impossible_member(limits, *member, elements) : std::nullopt;
  } else if constexpr (std::is_same_v<T, std::int64_t> || (std::is_enum_v<T> && sizeof(T) == 8)) {
    return impossible_count(limits, static_cast<std::int64_t>(member), elements);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<Signature>> ||
                       std::is_same_v<T, TensorRanges>) {
    return impossible(member);
  } else {
    return std::nullopt;
  }
}

}  // namespace ulpscope::reports
