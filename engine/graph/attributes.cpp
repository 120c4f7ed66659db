#include "engine/graph/attributes.h"

#include <fmt/format.h>

#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

thread_local AttributeReads* reads = nullptr;

const Attribute& at(const std::map<std::string, Attribute, std::less<>>& values, std::string_view name) {
  const auto it = values.find(name);
  if (it == values.end()) throw Error(fmt::format("attribute '{}' is missing", name));
  return it->second;
}

template <class T>
const T& get(const std::map<std::string, Attribute, std::less<>>& values, std::string_view name, const char* kind) {
  const T* found = std::get_if<T>(&at(values, name));
  if (found == nullptr) throw Error(fmt::format("attribute '{}' is not {}", name, kind));
  return *found;
}

}  // namespace

AttributeReads::AttributeReads() : outer_(reads) { reads = this; }
AttributeReads::~AttributeReads() { reads = outer_; }
void AttributeReads::note(std::string_view name) {
  if (reads != nullptr) reads->names_.emplace(name);
}

bool Attributes::contains(std::string_view name) const {
  AttributeReads::note(name);
  return values_.find(name) != values_.end();
}

std::int64_t Attributes::integer(std::string_view name) const {
  AttributeReads::note(name);
  return get<std::int64_t>(values_, name, "an integer");
}

double Attributes::number(std::string_view name) const {
  AttributeReads::note(name);
  if (const auto* integer = std::get_if<std::int64_t>(&at(values_, name))) return static_cast<double>(*integer);
  return get<double>(values_, name, "a number");
}

bool Attributes::flag(std::string_view name) const {
  AttributeReads::note(name);
  return get<bool>(values_, name, "true or false");
}
const std::string& Attributes::text(std::string_view name) const {
  AttributeReads::note(name);
  return get<std::string>(values_, name, "a text");
}
const std::vector<std::int64_t>& Attributes::integers(std::string_view name) const {
  AttributeReads::note(name);
  return get<std::vector<std::int64_t>>(values_, name, "a list of integers");
}

std::string to_string(const Attributes& attributes) {
  struct Print {
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<std::int64_t>& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
  };
  std::string text;
  for (const auto& [name, value] : attributes.all())
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, std::visit(Print{}, value));
  return text;
}

}  // namespace ulpscope::engine
