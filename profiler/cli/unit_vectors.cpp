#include "profiler/cli/unit_vectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <istream>
#include <map>

#include "kernels/error.h"
#include "kernels/formats/bits.h"
#include "kernels/formats/convert.h"
#include "kernels/formats/fp16.h"
#include "kernels/tensor_core/reference.h"
#include "reports/export/layout.h"

namespace ulpscope::profiler {
namespace {

using tensor_core::Result;
using tensor_core::SumRule;
using tensor_core::Unit;

constexpr std::array columns{"generation", "format", "result", "instruction", "a", "b", "c", "expected"};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t end = text.find(at); end != std::string::npos; start = end + 1, end = text.find(at, start))
    parts.push_back(trimmed(text.substr(start, end - start)));
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

std::uint32_t word_of(const std::string& text, int digits, const std::string& where) {
  const bool hex = text.size() == static_cast<std::size_t>(digits) &&
                   std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!hex)
    throw UsageError(fmt::format("{}: \"{}\" is not a bit pattern of {} hexadecimal digits", where, reports::printable(text), digits));
  return static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
}

float number_of(Format format, std::uint32_t word) {
  unsigned char bytes[4];
  std::memcpy(bytes, &word, sizeof bytes);  // little-endian: the lower bytes first
  float value = 0.0f;
  widen(format, bytes, &value, 1);
  return value;
}

/// A matrix unit does not look at the low 13 bits of a tf32 operand: whoever wants them rounded does so before.
std::uint32_t seen_by_unit(Format format, std::uint32_t word) { return format == Format::tf32 ? word & ~0x1fffu : word; }

std::vector<float> numbers_of(Format format, const std::string& words, const std::string& where) {
  std::vector<float> numbers;
  for (const std::string& word : split(words, ' '))
    if (!word.empty()) numbers.push_back(number_of(format, seen_by_unit(format, word_of(word, 2 * storage_bytes(format), where))));
  if (numbers.empty()) throw UsageError(fmt::format("{}: there is no number", where));
  return numbers;
}

int digits(Result result) { return result == Result::fp16 ? 4 : 8; }

std::uint32_t canonical(Result result, std::uint32_t bits) {
  if (result == Result::fp16) return (bits & 0x7fffu) > 0x7c00u ? tensor_core::canonical_fp16_nan : bits;
  return (bits & 0x7fffffffu) > 0x7f800000u ? tensor_core::canonical_nan : bits;
}

std::map<std::string, std::size_t> header_of(const std::string& line, const std::string& where) {
  std::map<std::string, std::size_t> places;
  const std::vector<std::string> names = split(line, ',');
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(columns.begin(), columns.end(), names[i]) == columns.end())
      throw UsageError(fmt::format("{}: unknown column \"{}\"; the first line names the columns: {}", where, reports::printable(names[i]),
                                   fmt::join(columns, ", ")));
    if (!places.emplace(names[i], i).second) throw UsageError(fmt::format("{}: column \"{}\" is there twice", where, names[i]));
  }
  for (const char* needed : {"a", "b", "expected"})
    if (!places.contains(needed)) throw UsageError(fmt::format("{}: there is no column \"{}\"", where, needed));
  return places;
}

UnitVector vector_of(const std::string& line, const std::map<std::string, std::size_t>& places, const UnitDefaults& defaults,
                     const std::string& where) {
  const std::vector<std::string> cells = split(line, ',');
  if (cells.size() != places.size())
    throw UsageError(fmt::format("{}: {} columns, the first line names {}", where, cells.size(), places.size()));
  const auto cell = [&](const char* name, const std::string& otherwise) {
    const auto place = places.find(name);
    return place == places.end() || cells[place->second].empty() ? otherwise : cells[place->second];
  };
  UnitDefaults wanted = defaults;
  wanted.generation = cell("generation", defaults.generation);
  wanted.format = cell("format", defaults.format);
  wanted.result = cell("result", defaults.result);
  wanted.instruction = cell("instruction", defaults.instruction);
  UnitVector v;
  v.unit = &unit_of(wanted, where);
  v.rule = v.unit->rule;
  v.rule.zeros = defaults.zeros == "included" ? tensor_core::ZeroProducts::included : tensor_core::ZeroProducts::excluded;
  if (defaults.promote != 0) v.rule = tensor_core::promoted(v.rule, static_cast<int>(defaults.promote));
  v.a = numbers_of(v.rule.operands, cell("a", ""), where + ", column a");
  v.b = numbers_of(v.rule.operands, cell("b", ""), where + ", column b");
  if (v.a.size() != v.b.size())
    throw UsageError(fmt::format("{}: a has {} numbers, b has {}", where, v.a.size(), v.b.size()));
  const int wide = digits(v.rule.result);
  const std::uint32_t c = word_of(cell("c", std::string(static_cast<std::size_t>(wide), '0')), wide, where + ", column c");
  v.c = v.rule.result == Result::fp16 ? number_of(Format::fp16, c) : float_from_bits(c);
  v.expected = canonical(v.rule.result, word_of(cell("expected", ""), wide, where + ", column expected"));
  return v;
}

}  // namespace

const Unit& unit_of(const UnitDefaults& wanted, const std::string& where) {
  const auto generation = parse_matrix_unit(wanted.generation);
  if (!generation || *generation == MatrixUnit::none)
    throw UsageError(fmt::format("{}: {}; there are v100, turing, ampere, ada, hopper, blackwell", where,
                                 wanted.generation.empty() ? "no generation is named (a column, or --generation)"
                                                           : fmt::format("unknown generation \"{}\"", reports::printable(wanted.generation))));
  const auto format = parse_format(wanted.format);
  if (!format)
    throw UsageError(fmt::format("{}: {}; there are fp16, bf16, tf32, fp8_e4m3, fp8_e5m2", where,
                                 wanted.format.empty() ? "no format is named (a column, or --format)"
                                                       : fmt::format("unknown format \"{}\"", reports::printable(wanted.format))));
  const auto result = tensor_core::parse_result(wanted.result);
  if (!result) throw UsageError(fmt::format("{}: unknown result \"{}\"; there are fp32, fp16, e8m13", where, reports::printable(wanted.result)));
  const Unit* unit = tensor_core::find_unit(*generation, *format, *result, wanted.instruction);
  if (unit != nullptr) return *unit;
  std::vector<std::string> there;
  for (const Unit& row : tensor_core::units())
    if (row.generation == *generation)
      there.push_back(fmt::format("{} to {} ({})", name(row.rule.operands), tensor_core::name(row.rule.result), row.instruction));
  throw UsageError(fmt::format("{}: {} has no {} to {}{}; it has {}", where, name(*generation), name(*format), tensor_core::name(*result),
                               wanted.instruction.empty() ? "" : " by " + reports::printable(wanted.instruction), fmt::join(there, ", ")));
}

void read_unit_vectors(std::istream& in, const std::string& name, const UnitDefaults& defaults,
                       const std::function<void(const UnitVector&)>& take) {
  std::map<std::string, std::size_t> places;
  bool any = false;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);   // a byte order mark
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", name, number);
    if (places.empty()) {
      places = header_of(line, where);
      continue;
    }
    UnitVector v = vector_of(line, places, defaults, where);
    v.line = number;
    take(v);
    any = true;
  }
  if (!any) throw UsageError(fmt::format("{}: there is no vector; the first line names the columns: {}", name, fmt::join(columns, ", ")));
}

std::uint32_t result_bits(Result result, float x) {
  if (result != Result::fp16) return canonical(result, float_bits(x));
  return canonical(result, fp16_from_float(x));
}

}  // namespace ulpscope::profiler
