#include "kernels/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ulpscope {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0u : 1u)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

/// Whoever stopped typing early meant the name that goes on.
bool begins(std::string_view name, std::string_view given) {
  return given.size() >= 3 && name.size() >= given.size() &&
         std::equal(given.begin(), given.end(), name.begin(), [](char a, char b) { return lower(a) == lower(b); });
}

std::size_t closeness(std::string_view given, std::string_view name) {
  const std::size_t edits = distance(given, name);
  return begins(name, given) ? std::min<std::size_t>(edits, 1) : edits;
}

}  // namespace

std::string nearest(std::string_view given, std::span<const std::string> valid) {
  const auto found = std::min_element(valid.begin(), valid.end(), [&](const std::string& a, const std::string& b) {
    return closeness(given, a) < closeness(given, b);
  });
  return found == valid.end() ? std::string() : *found;
}

}  // namespace ulpscope
