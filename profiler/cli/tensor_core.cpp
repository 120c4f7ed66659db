// ulpscope tensor-core: the arithmetic of matrix units as this program emulates it; and files of vectors tried on it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "kernels/error.h"
#include "kernels/tensor_core/product.h"
#include "kernels/tensor_core/reference.h"
#include "profiler/cli/command.h"
#include "profiler/cli/program.h"
#include "profiler/cli/tensor_core_device.h"
#include "profiler/cli/text.h"
#include "profiler/cli/unit_vectors.h"
#include "profiler/experiment/json_text.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;
using tensor_core::SumRule;
using tensor_core::Unit;

constexpr std::int64_t most_shown = 20;

struct TensorCoreArguments {
  std::string path;
  std::string device;
  UnitDefaults defaults;
  bool sums_given = false;   ///< --result or --zero-products, which have defaults
  bool json = false;
};

bool wanted(const Unit& unit, const UnitDefaults& d) {
  return (d.generation.empty() || d.generation == name(unit.generation)) && (d.format.empty() || d.format == name(unit.rule.operands));
}

json unit_json(const Unit& unit) {
  const SumRule& rule = unit.rule;
  const bool floored = rule.exponent_floor != tensor_core::no_exponent_floor;
  return {{"generation", name(unit.generation)},
          {"format", name(rule.operands)},
          {"result", tensor_core::name(rule.result)},
          {"instruction", unit.instruction},
          {"devices", unit.devices},
          {"block_width", rule.width},
          {"fraction_bits", rule.fraction},
          {"exponent_floor", floored ? json(rule.exponent_floor) : json()},
          {"added_up_every", rule.restart},
          {"sums", tensor_core::words(rule)},
          {"evidence", tensor_core::name(unit.evidence)},
          {"basis", unit.basis}};
}

void print_table(const TensorCoreArguments& arguments, const Invocation& call) {
  json rows = json::array();
  if (!arguments.json)
    call.out << "Sums of matrix units, as they are emulated. Evidence: data (bit-exact on vectors\n"
                "captured from devices), source (a simulator or one measurement), unverified.\n\n";
  for (const Unit& unit : tensor_core::units()) {
    if (!wanted(unit, arguments.defaults)) continue;
    if (arguments.json) {
      rows.push_back(unit_json(unit));
      continue;
    }
    call.out << fmt::format("{:<10}{:<10}{:<10}evidence: {}\n", name(unit.generation), name(unit.rule.operands), unit.instruction,
                            tensor_core::name(unit.evidence));
    call.out << wrapped(fmt::format("          {}", unit.devices), "          ") << '\n';
    call.out << wrapped("          " + tensor_core::words(unit.rule), "          ") << '\n';
    call.out << wrapped(fmt::format("          {}", unit.basis), "          ") << '\n';
  }
  if (arguments.json) call.out << json_text(rows, 2) << '\n';
}

/// The same sum from the integer reference and from the vectorised product.
struct Answers {
  std::uint32_t reference = 0, product = 0;
};

Answers answers(const UnitVector& v) {
  const auto k = static_cast<std::int64_t>(v.a.size());
  const float sum = tensor_core::reference_sum(v.rule, v.a.data(), 1, v.b.data(), 1, k, v.c);
  const InstructionSet set = best_instruction_set();
  std::vector<float> scratch(static_cast<std::size_t>(tensor_core::scratch_floats(set, 1, k)));
  float product = v.c;
  tensor_core::multiply(set, v.rule, {v.a.data(), Format::fp32, Format::fp32, k, 1}, 0, 1, {v.b.data(), Format::fp32, Format::fp32, 1, k}, 1,
                        k, &product, 1, tensor_core::Start::c, scratch.data());
  return {result_bits(v.rule.result, sum), result_bits(v.rule.result, product)};
}

int try_vectors(const TensorCoreArguments& arguments, const Invocation& call) {
  if (std::filesystem::is_directory(arguments.path)) throw UsageError(fmt::format("{}: a folder, not a file of vectors", arguments.path));
  std::ifstream in(arguments.path);
  if (!in) throw UsageError(fmt::format("{}: cannot be read", arguments.path));
  std::int64_t vectors = 0, mismatches = 0;
  json shown = json::array();
  read_unit_vectors(in, arguments.path, arguments.defaults, [&](const UnitVector& v) {
    ++vectors;
    const Answers got = answers(v);
    if (got.reference == v.expected && got.product == v.expected) return;
    if (++mismatches > most_shown) return;
    const int digits = v.rule.result == tensor_core::Result::fp16 ? 4 : 8;
    const auto hex = [digits](std::uint32_t bits) { return fmt::format("{:0{}x}", bits, digits); };
    shown.push_back({{"line", v.line}, {"expected", hex(v.expected)}, {"got", hex(got.reference)}, {"product", hex(got.product)}});
    if (arguments.json) return;
    call.out << wrapped(fmt::format("{}:{}: expected {}, computed {}{}", reports::printable(arguments.path), v.line, hex(v.expected), hex(got.reference),
                                    got.product == got.reference ? "" : fmt::format(" (the vectorised product: {})", hex(got.product))),
                        "  ")
             << '\n';
  });
  if (arguments.json) {
    call.out << json_text({{"file", arguments.path}, {"vectors", vectors}, {"mismatches", mismatches}, {"first", shown}}, 2) << '\n';
  } else {
    if (mismatches > most_shown) call.out << fmt::format("… and {} more\n", mismatches - most_shown);
    call.out << fmt::format("{} vector{}, {} mismatch{}\n", vectors, vectors == 1 ? "" : "s", mismatches, mismatches == 1 ? "" : "es");
  }
  return mismatches == 0 ? exit_ok : exit_fault;
}

int tensor_core_command(const TensorCoreArguments& arguments, const Invocation& call) {
  const UnitDefaults& d = arguments.defaults;
  if (d.zeros != "excluded" && d.zeros != "included")
    throw UsageError(fmt::format("--zero-products {}: it is excluded or included", reports::printable(d.zeros)));
  if (!d.generation.empty() && (!parse_matrix_unit(d.generation) || d.generation == "none"))
    throw UsageError(fmt::format("--generation {}: there are v100, turing, ampere, ada, hopper, blackwell", reports::printable(d.generation)));
  if (!d.format.empty() && !parse_format(d.format))
    throw UsageError(fmt::format("--format {}: there are fp16, bf16, tf32, fp8_e4m3, fp8_e5m2", reports::printable(d.format)));
  if (d.promote < 0) throw UsageError("--promote: a whole number, 0 or above");
  if (!arguments.device.empty()) {
    if (!arguments.path.empty() || !d.generation.empty() || !d.format.empty() || arguments.sums_given || !d.instruction.empty() || d.promote != 0)
      throw UsageError("--device asks a GPU the vectors that tell units apart: no file, --generation, --format, --result, --instruction, --zero-products or --promote "
                       "beside it");
    return ask_device(arguments.device, arguments.json, call);
  }
  if (!arguments.path.empty()) return try_vectors(arguments, call);
  if (d.promote != 0) throw UsageError("--promote: for a file of vectors, and none is given");
  const auto& all = tensor_core::units();
  if (std::none_of(all.begin(), all.end(), [&](const Unit& unit) { return wanted(unit, d); }))
    throw UsageError(fmt::format("{} has no {}; ulpscope tensor-core --generation {} lists what it has", d.generation, d.format, d.generation));
  print_table(arguments, call);
  return exit_ok;
}

}  // namespace

Action declare_tensor_core(CLI::App& app) {
  auto arguments = std::make_shared<TensorCoreArguments>();
  UnitDefaults& d = arguments->defaults;
  app.add_option("VECTORS", arguments->path, "a file of vectors to try; without one the table of units is printed")->type_name("");
  app.add_option("--device", arguments->device, "ask this GPU (cuda, cuda:1 …) the vectors that tell units apart, by its own instruction")->type_name("GPU");
  app.add_option("--generation", d.generation, "of lines that name none: v100, turing, ampere, ada, hopper, blackwell")->type_name("UNIT");
  app.add_option("--format", d.format, "of their operands: fp16, bf16, tf32, fp8_e4m3, fp8_e5m2")->type_name("FORMAT");
  const CLI::Option* const result = app.add_option("--result", d.result, "of their sums: fp32, fp16, e8m13")->type_name("FORMAT");
  app.add_option("--instruction", d.instruction, "for fp8: mma, wgmma, mma.sync, tcgen05, qmma; without it the generation's default")
      ->type_name("NAME");
  const CLI::Option* const zeros = app.add_option("--zero-products", d.zeros, "whether they take part in the alignment: excluded, included")->type_name("WHAT");
  app.add_option("--promote", d.promote, "elements of K after which a sum is added up in fp32, as libraries do with fp8 (128); 0: none")
      ->type_name("K");
  app.add_flag("--json", arguments->json, "print JSON");
  app.footer(wrapped("A line of a file is one sum: generation,format,result,instruction,a,b,c,expected. The first line names the columns; a, b "
                     "(bit patterns in hexadecimal, separated by blanks) and expected are needed. Exit code 1: a line was answered otherwise; with "
                     "--device: the GPU answers otherwise than a row that rests on captured data.",
                     ""));
  return [arguments, result, zeros](const Invocation& call) {
    arguments->sums_given = result->count() + zeros->count() > 0;
    return tensor_core_command(*arguments, call);
  };
}

}  // namespace ulpscope::profiler
