// Named attributes of a node: heads, epsilon, axis, …
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ulpscope::engine {

using Attribute = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> list) : values_(list) {}

  void set(const std::string& name, Attribute value) { values_[name] = std::move(value); }
  void erase(const std::string& name) { values_.erase(name); }
  bool contains(std::string_view name) const;

  /// Throw Error naming the attribute when it is missing or of another kind. An integer serves as a number.
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;

  std::int64_t integer_or(std::string_view name, std::int64_t fallback) const { return contains(name) ? integer(name) : fallback; }
  double number_or(std::string_view name, double fallback) const { return contains(name) ? number(name) : fallback; }
  bool flag_or(std::string_view name, bool fallback) const { return contains(name) ? flag(name) : fallback; }

  const std::map<std::string, Attribute, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, Attribute, std::less<>> values_;
};

/// While it lives, collects the names of attributes that this thread asks for: what an operator reads.
class AttributeReads {
 public:
  AttributeReads();
  ~AttributeReads();
  AttributeReads(const AttributeReads&) = delete;
  AttributeReads& operator=(const AttributeReads&) = delete;
  const std::set<std::string>& names() const { return names_; }

 private:
  friend class Attributes;
  static void note(std::string_view name);
  std::set<std::string> names_;
  AttributeReads* outer_;
};

/// "heads=6 causal=true": for printing.
std::string to_string(const Attributes& attributes);

}  // namespace ulpscope::engine
