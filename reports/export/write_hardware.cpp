#include "reports/export/write_hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
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

/// A digit after the point; below 1 three that count.
std::string short_number(double value) {
  if (value < 1.0) return fmt::format("{:.3g}", value);
  std::string text = fmt::format("{:.1f}", value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

/// In so many columns, with fewer digits if need be: "85.9M", "2e-4".
std::string number_in(double value, std::size_t room) {
  std::vector<std::string> forms{short_number(value)};
  if (value < 1.0) {
    const double exponent = std::floor(std::log10(std::max(value, 1e-9)));
    for (const int digits : {2, 1}) forms.push_back(fmt::format("{:.{}g}", value, digits));
    forms.push_back(fmt::format("{:.0f}e{:.0f}", value / std::pow(10.0, exponent), exponent));
  } else {
    forms.push_back(fmt::format("{:.0f}", value));
    for (const auto& [unit, letter] : {std::pair(1e3, 'k'), std::pair(1e6, 'M')})
      for (const int digits : {1, 0}) forms.push_back(fmt::format("{:.{}f}{}", value / unit, digits, letter));
  }
  for (const std::string& form : forms)
    if (form.size() <= room) return form;
  return forms.back();
}

/// A blank, at least, and the figure: `width` columns. unknown: what stands for a figure that is not known.
std::string figure_cell(const Gpu& gpu, const std::string& key, const Number& value, const char* unknown, std::size_t width) {
  const std::string sign = mark(gpu, key);
  return pad_left(value ? number_in(*value, width - 1 - sign.size()) + sign : unknown, width);
}

Number size(double value) { return value > 0.0 ? Number(value) : std::nullopt; }

/// Without a rate: whether there is hardware for it, as its compute capability says.
std::string peak_cell(const Gpu& gpu, Rate rate, std::size_t width) {
  const char* key = rates()[static_cast<std::size_t>(rate)].key;
  const bool there = product_support(gpu, rate == Rate::fp16_sums_fp16 ? "fp16" : key).support == Support::native;
  return figure_cell(gpu, key, gpu.peak_of(rate), there ? "?" : "-", width);
}

std::string row(const Gpu& gpu) {
  std::string line = pad_right(shorten(printable(gpu.name), 14), 14);
  line += pad_left(capability_text(gpu.capability), 5);
  line += pad_left(gpu.sms > 0 ? fmt::format("{}", gpu.sms) : "?", 5);
  line += figure_cell(gpu, "memory_gb", size(gpu.memory_gb), "?", 5);
  line += figure_cell(gpu, "bandwidth_gbs", gpu.bandwidth_gbs, "?", 6);
  line += peak_cell(gpu, Rate::fp32, 6);
  line += peak_cell(gpu, Rate::tf32, 6);
  line += peak_cell(gpu, Rate::fp16, 6);
  line += peak_cell(gpu, Rate::fp16_sums_fp16, 8);
  line += peak_cell(gpu, Rate::bf16, 7);
  line += peak_cell(gpu, Rate::fp8, 6);
  line += figure_cell(gpu, "power_w", gpu.power_w, "?", 6);
  return line + "\n";
}

constexpr const char* head =
    "                                      TFLOP/s, dense\n"
    "GPU              cc  SMs   GB  GB/s  fp32  tf32  fp16 fp16/16   bf16   fp8     W\n";

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << in_lines(text, "  " + pad_right(label, 17));
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
    text += fmt::format("; {} SMs x {} x 2 x {:.6g} MHz = {}", gpu.sms, *gpu.fma[i], info.matrix_units ? gpu.tensor_mhz.value_or(gpu.boost_mhz) : gpu.boost_mhz, short_number(*computed));
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

std::string in_lines(std::string_view text, std::string_view before) {
  const std::size_t width = 80 - columns(before);
  std::string broken;
  std::size_t used = 0;  // columns of the word so far
  for (const char c : printable(text)) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (starts && used == width) {
      broken += ' ';
      used = 0;
    }
    broken += c;
    used = c == ' ' ? 0 : used + (starts ? 1 : 0);
  }
  return wrap(broken, before);
}

void write_gpus_text(const std::vector<Gpu>& gpus, const std::vector<Gpu>& here, std::ostream& out) {
  out << head;
  for (const Gpu& gpu : here) out << row(gpu);
  if (!here.empty()) out << "  of this machine, as reported, above; the table:\n";
  for (const Gpu& gpu : gpus) out << row(gpu);
  out << wrapped("fp16 and bf16 with fp32 sums, fp16/16 with fp16 sums; - no hardware for it; ? unverified or not known; ~ derived. "
                 "One in full, with its sources: ulpscope hardware NAME", "")
      << "\n";
}

void write_gpu_text(const Gpu& gpu, std::ostream& out) {
  out << in_lines(fmt::format("{}{}, compute capability {}{}", gpu.name, gpu.architecture.empty() ? "" : ", " + gpu.architecture, capability_text(gpu.capability),
                              gpu.present ? ", of this machine" : ""), "");
  item(out, "SMs", gpu.sms > 0 ? fmt::format("{}", gpu.sms) : "unknown");
  item(out, "boost clock", with_why(gpu, "boost_mhz", size(gpu.boost_mhz), "MHz"));
  item(out, "matrix units", with_why(gpu, "tensor_mhz", gpu.tensor_mhz, "MHz"));
  item(out, "memory", with_why(gpu, "memory_gb", size(gpu.memory_gb), "GB (10^9 bytes)"));
  if (gpu.memory_bytes) item(out, "", fmt::format("{} bytes as its driver reports it", *gpu.memory_bytes));
  item(out, "bandwidth", with_why(gpu, "bandwidth_gbs", gpu.bandwidth_gbs, "GB/s"));
  item(out, "L2", with_why(gpu, "l2_mb", gpu.l2_mb, "MiB"));
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
                         {"units", "peaks TFLOP/s, dense; memory 10^9 bytes; bandwidth 10^9 bytes/s; l2_mb 2^20 bytes; unknown is null, and so is what there is no hardware for"},
                         {"here", present},
                         {"gpus", list}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace ulpscope::reports
