#include "reports/export/write_hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "reports/export/layout.h"
#include "reports/hardware/support.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

std::string mark(const Gpu& gpu, const std::string& key) {
  if (gpu.unverified.contains(key)) return "?";
  return gpu.derived.contains(key) ? "~" : "";
}

std::string short_number(double value) {
  std::string text = fmt::format("{:.1f}", value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

/// unknown: what stands for a figure that is not known.
std::string figure_text(const Gpu& gpu, const std::string& key, const Number& value, const char* unknown) {
  return value ? short_number(*value) + mark(gpu, key) : unknown;
}

Number size(double value) { return value > 0.0 ? Number(value) : std::nullopt; }

std::string peak_text(const Gpu& gpu, Rate rate) {
  return figure_text(gpu, rates()[static_cast<std::size_t>(rate)].key, gpu.peak_of(rate), gpu.present && gpu.sources.empty() && rate != Rate::fp32 ? "?" : "-");
}

std::string row(const Gpu& gpu) {
  std::string line = pad_right(shorten(printable(gpu.name), 14), 14);
  const auto cell = [&](const std::string& text, std::size_t width) { line += pad_left(text, width); };
  cell(capability_text(gpu.capability), 5);
  cell(gpu.sms > 0 ? fmt::format("{}", gpu.sms) : "?", 4);
  cell(figure_text(gpu, "memory_gb", size(gpu.memory_gb), "?"), 5);
  cell(figure_text(gpu, "bandwidth_gbs", gpu.bandwidth_gbs, "?"), 6);
  cell(peak_text(gpu, Rate::fp32), 6);
  cell(peak_text(gpu, Rate::tf32), 6);
  cell(peak_text(gpu, Rate::fp16), 7);
  cell(peak_text(gpu, Rate::fp16_sums_fp16), 8);
  cell(peak_text(gpu, Rate::bf16), 7);
  cell(peak_text(gpu, Rate::fp8), 6);
  cell(figure_text(gpu, "power_w", gpu.power_w, "?"), 6);
  return line + "\n";
}

constexpr const char* head =
    "                                     TFLOP/s, dense\n"
    "GPU              cc SMs   GB  GB/s  fp32  tf32   fp16 fp16/16   bf16   fp8     W\n";

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << wrap(printable(text), "  " + pad_right(label, 17));
}

/// "  312" or "  312 (derived: …)".
std::string with_why(const Gpu& gpu, const std::string& key, const Number& value, const char* unit) {
  if (!value) return "";
  std::string text = fmt::format("{}{}{}", short_number(*value), *unit == '\0' ? "" : " ", unit);
  if (const auto why = gpu.unverified.find(key); why != gpu.unverified.end()) text += fmt::format(" [unverified: {}]", why->second);
  else if (const auto from = gpu.derived.find(key); from != gpu.derived.end()) text += fmt::format(" [derived: {}]", from->second);
  return text;
}

std::string rate_text(const Gpu& gpu, const RateInfo& info) {
  const auto i = static_cast<std::size_t>(info.rate);
  if (!gpu.peak[i]) return "";
  std::string text = with_why(gpu, info.key, gpu.peak[i], "TFLOP/s");
  if (const Number computed = gpu.computed_peak(info.rate); computed && gpu.sms > 0)
    text += fmt::format("; {} SMs x {:g} x 2 x {:g} MHz = {}", gpu.sms, *gpu.fma[i], info.matrix_units ? gpu.tensor_mhz.value_or(gpu.boost_mhz) : gpu.boost_mhz, short_number(*computed));
  if (gpu.attainable[i]) text += fmt::format("; {} reached by others", short_number(*gpu.attainable[i]));
  return text;
}

json number(const Number& value) { return value ? json(*value) : json(nullptr); }

json rates_json(const Rates& values) {
  json all = json::object();
  for (const RateInfo& info : rates()) all[info.key] = number(values[static_cast<std::size_t>(info.rate)]);
  return all;
}

json gpu_json(const Gpu& gpu) {
  json computed = json::object();
  for (const RateInfo& info : rates()) computed[info.key] = number(gpu.computed_peak(info.rate));
  json modes = json::array();
  for (const std::string& mode : known_modes()) {
    const ModeSupport support = how_it_runs(gpu, mode);
    modes.push_back({{"mode", mode}, {"runs", name(support.support)}, {"why", support.why}, {"peak_tflops", number(support.peak)}});
  }
  return {{"name", gpu.name},
          {"also", gpu.also},
          {"device_names", gpu.device},
          {"architecture", gpu.architecture.empty() ? json(nullptr) : json(gpu.architecture)},
          {"compute_capability", capability_text(gpu.capability)},
          {"sms", gpu.sms > 0 ? json(gpu.sms) : json(nullptr)},
          {"boost_mhz", number(size(gpu.boost_mhz))},
          {"tensor_mhz", number(gpu.tensor_mhz)},
          {"memory_gb", number(size(gpu.memory_gb))},
          {"memory_bytes", gpu.memory_bytes ? json(*gpu.memory_bytes) : json(nullptr)},
          {"bandwidth_gbs", number(gpu.bandwidth_gbs)},
          {"l2_mb", number(gpu.l2_mb)},
          {"power_w", number(gpu.power_w)},
          {"fma_per_sm_and_clock", rates_json(gpu.fma)},
          {"peak_tflops", rates_json(gpu.peak)},
          {"computed_peak_tflops", computed},
          {"attainable_tflops", rates_json(gpu.attainable)},
          {"modes", modes},
          {"unverified", gpu.unverified},
          {"derived", gpu.derived},
          {"notes", gpu.notes},
          {"sources", gpu.sources},
          {"file", gpu.file.empty() ? json(nullptr) : json(gpu.file)},
          {"reported_by_device", gpu.present}};
}

}  // namespace

void write_gpus_text(const std::vector<Gpu>& gpus, const std::vector<Gpu>& here, std::ostream& out) {
  out << head;
  for (const Gpu& gpu : here) out << row(gpu);
  if (!here.empty()) out << "  of this machine, as reported, above; the table:\n";
  for (const Gpu& gpu : gpus) out << row(gpu);
  out << wrapped("fp16 and bf16 with fp32 sums, fp16/16 with fp16 sums; - no hardware for it; ? unverified; ~ derived. "
                 "One in full, with its sources: ulpscope hardware NAME", "")
      << "\n";
}

void write_gpu_text(const Gpu& gpu, std::ostream& out) {
  out << printable(gpu.name) << (gpu.architecture.empty() ? "" : fmt::format(", {}", printable(gpu.architecture)))
      << fmt::format(", compute capability {}{}\n", capability_text(gpu.capability), gpu.present ? ", of this machine" : "");
  item(out, "SMs", gpu.sms > 0 ? fmt::format("{}", gpu.sms) : "unknown");
  item(out, "boost clock", with_why(gpu, "boost_mhz", size(gpu.boost_mhz), "MHz"));
  item(out, "matrix units", with_why(gpu, "tensor_mhz", gpu.tensor_mhz, "MHz"));
  item(out, "memory", with_why(gpu, "memory_gb", size(gpu.memory_gb), "GB (10^9 bytes)"));
  if (gpu.memory_bytes) item(out, "", fmt::format("{} bytes as its driver reports it", *gpu.memory_bytes));
  item(out, "bandwidth", with_why(gpu, "bandwidth_gbs", gpu.bandwidth_gbs, "GB/s"));
  item(out, "L2", with_why(gpu, "l2_mb", gpu.l2_mb, "MB"));
  item(out, "power", with_why(gpu, "power_w", gpu.power_w, "W"));
  out << "peaks, dense\n";
  for (const RateInfo& info : rates()) item(out, info.label, rate_text(gpu, info));
  out << "modes\n";
  for (const std::string& mode : known_modes()) {
    const ModeSupport support = how_it_runs(gpu, mode);
    item(out, mode, fmt::format("{}: {}", name(support.support), support.why));
  }
  if (!gpu.notes.empty() || !gpu.sources.empty()) out << "where from\n";
  for (const std::string& note : gpu.notes) item(out, "note", note);
  for (const std::string& source : gpu.sources) item(out, "source", source);
  if (!gpu.device.empty()) item(out, "driver's names", fmt::format("{}", fmt::join(gpu.device, "; ")));
  item(out, "your file", gpu.file);
}

void write_gpus_json(const std::vector<Gpu>& gpus, const std::vector<Gpu>& here, std::ostream& out) {
  json list = json::array(), present = json::array();
  for (const Gpu& gpu : gpus) list.push_back(gpu_json(gpu));
  for (const Gpu& gpu : here) present.push_back(gpu_json(gpu));
  const json document = {{"kind", "ulpscope hardware"},
                         {"version", 1},
                         {"units", "peaks TFLOP/s, dense; memory 10^9 bytes; bandwidth 10^9 bytes/s; unknown is null, and so is what there is no hardware for"},
                         {"here", present},
                         {"gpus", list}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace ulpscope::reports
