#include "profiler/cli/tensor_core_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "kernels/error.h"
#include "kernels/unit_questions.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/json_text.h"
#include "profiler/experiment/make_device.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;
using tensor_core::UnitAnswer;
using tensor_core::ZeroProducts;

bool wrong(const UnitAnswer& a) {
  return !a.alike || (!a.question->open && a.unit != nullptr && a.unit->evidence == tensor_core::Evidence::data && !a.same());
}

const char* verdict(const UnitAnswer& a) {
  if (!a.alike) return "not alike";
  if (a.unit == nullptr) return "-";
  if (a.same()) return "same";
  return a.question->open ? "other" : "DIFFERS";
}

const char* words(std::optional<ZeroProducts> zeros) {
  if (!zeros) return "unknown";
  return *zeros == ZeroProducts::excluded ? "excluded" : "included";
}

json answer_json(const UnitAnswer& a) {
  const bool known = a.unit != nullptr;
  return {{"vector", a.question->name},
          {"format", name(a.question->operands)},
          {"result", a.question->fp16_sums ? "fp16" : "fp32"},
          {"device", fmt::format("{:08x}", a.device)},
          {"alike", a.alike},
          {"emulated", known ? json(fmt::format("{:08x}", a.emulated)) : json()},
          {"same", known ? json(a.same()) : json()},
          {"evidence", known ? json(tensor_core::name(a.unit->evidence)) : json()},
          {"rule", known ? json(tensor_core::words(a.unit->rule)) : json()},
          {"open", a.question->open},
          {"tells", a.question->tells}};
}

}  // namespace

int print_unit_answers(Device& device, int capability, bool as_json, std::ostream& out) {
  const std::vector<UnitAnswer> answers = tensor_core::ask_unit(device, capability);
  const std::optional<ZeroProducts> zeros = tensor_core::zero_products(answers);
  const char* generation = name(tensor_core::generation_of(capability));
  std::size_t same = 0, faults = 0;
  json list = json::array();
  if (!as_json)
    out << wrapped(fmt::format("{}, compute capability {}.{}: sums by its instruction mma [measured], beside those that are emulated for {}", device.description().name,
                               capability / 10, capability % 10, generation),
                   "  ")
        << "\n\n  vector operands sums device   emulated          tells\n";
  for (const UnitAnswer& a : answers) {
    same += a.same() ? 1 : 0;
    faults += wrong(a) ? 1 : 0;
    if (as_json) {
      list.push_back(answer_json(a));
      continue;
    }
    out << fmt::format("  {:<6} {:<8} {:<4} {:08x} {:<8} {:<8} {}\n", a.question->name, name(a.question->operands), a.question->fp16_sums ? "fp16" : "fp32", a.device,
                       a.unit != nullptr ? fmt::format("{:08x}", a.emulated) : "-", verdict(a), a.question->tells);
  }
  if (as_json) {
    out << json_text({{"device", device.description().name},
                      {"compute_capability", fmt::format("{}.{}", capability / 10, capability % 10)},
                      {"generation", generation},
                      {"instruction", "mma"},
                      {"zero_products", words(zeros)},
                      {"same", same},
                      {"asked", answers.size()},
                      {"vectors", std::move(list)}},
                     2)
        << '\n';
  } else {
    out << fmt::format("\n{} of {} vectors as emulated; zero products: {}\n", same, answers.size(), words(zeros));
  }
  return faults == 0 ? exit_ok : exit_fault;
}

int ask_device(const std::string& which, bool json, const Invocation& call) {
  const DeviceChoice choice = parse_device(which);
  if (!choice.gpu) throw UsageError(fmt::format("--device {}: it takes a GPU, cuda, cuda:1 …; a CPU has no matrix unit to ask", which));
  const std::unique_ptr<Device> device = make_device(which, 0, fmt::format("--device {}", which));
  const std::string& set = device->description().instruction_set;   // "sm_90"
  return print_unit_answers(*device, set.starts_with("sm_") ? std::atoi(set.c_str() + 3) : 0, json, call.out);
}

}  // namespace ulpscope::profiler
