#include "reports/export/write_projection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

void line(std::ostream& out, std::string_view head, const std::string& text) { out << wrap(printable(text), head); }

std::string gb_text(double bytes) { return fmt::format("{:.3g} GB", bytes * 1e-9); }

std::string memory_text(const Gpu& gpu) {
  if (gpu.memory_bytes) return fmt::format("{:.2f} GB", static_cast<double>(*gpu.memory_bytes) * 1e-9);
  if (gpu.memory_gb <= 0.0) return "memory unknown";
  return fmt::format("{:g} GB", gpu.memory_gb);
}

std::string gpu_text(const GpuProjection& there) {
  const Gpu& gpu = there.gpu;
  std::string text = fmt::format("{}, compute capability {}, {}", gpu.name, capability_text(gpu.capability), memory_text(gpu));
  if (gpu.bandwidth_gbs) text += fmt::format(", {:g} GB/s{}", *gpu.bandwidth_gbs, gpu.unverified.contains("bandwidth_gbs") ? " (unverified)" : "");
  return text;
}

std::string range(const Figure& figure) { return figure.value ? range_text(figure, FigureStyle::seconds) : ""; }

std::string limits_text(const ModeProjection& mode) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < mode.limited.size(); ++i)
    if (mode.limited[i].value_or(0.0) > mode.limited[most].value_or(0.0)) most = i;
  if (!mode.limited[most]) return "";
  return fmt::format("{} {:.0f} %", name(static_cast<Limit>(most)), 100.0 * *mode.limited[most]);
}

std::string batch_text(const ModeProjection& mode) {
  if (!mode.largest_batch) return "-";
  return fmt::format("{}{}", mode.batch_capped ? "≥" : "", *mode.largest_batch);
}

constexpr const char* head = "  mode       there        a step        from…to  x fp32    memory  fits    batch\n";

void mode_line(const ModeProjection& mode, std::ostream& out) {
  std::string text = "  " + pad_right(shorten(printable(mode.mode), 10), 11) + pad_right(name(mode.there.support), 9);
  text += pad_left(mode.step.value ? seconds_text(*mode.step.value) : "unknown", 10);
  text += pad_left(range(mode.step), 15);
  text += pad_left(mode.speed.value ? fmt::format("{:.2f}", *mode.speed.value) : "-", 8);
  text += pad_left(mode.memory.value ? gb_text(*mode.memory.value) : "unknown", 10);
  text += pad_left(name(mode.fits), 6) + pad_left(batch_text(mode), 9);
  out << text << '\n';
}

std::string share_text(std::string_view what, const Share& share) {
  return fmt::format("{} {:.2f} ({:.2f}…{:.2f}, {})", what, share.spread.likely, share.spread.low, share.spread.high,
                     share.samples == 0 ? "assumed" : fmt::format("of {} launches, error {:.0f} %", share.samples, 100.0 * share.error.value_or(0.0)));
}

void assumptions(const GpuProjection& there, std::ostream& out) {
  const Attainable& a = there.attainable;
  const Spread& launch = a.launch.spread;
  line(out, "  rests on   ",
       fmt::format("shares of the peak in large launches: {}, {}, {}; of the bandwidth {}; a launch {:.3g} µs ({:.3g}…{:.3g}, {})",
                   share_text("products", a.of(WorkClass::matrix_units, WorkSize::large)), share_text("attention", a.of(WorkClass::attention, WorkSize::large)),
                   share_text("in fp32", a.of(WorkClass::fp32_products, WorkSize::large)), share_text("", a.of(WorkClass::memory, WorkSize::large)).substr(1), 1e6 * launch.likely,
                   1e6 * launch.low, 1e6 * launch.high, a.launch.samples == 0 ? "assumed" : fmt::format("of {} runs", a.launch.samples)));
}

void gpu_lines(const GpuProjection& there, std::ostream& out) {
  out << '\n' << printable(fmt::format("{}{}", gpu_text(there), there.asked == there.gpu.name ? "" : fmt::format(" (\"{}\")", there.asked))) << '\n' << head;
  for (const ModeProjection& mode : there.modes) mode_line(mode, out);
  std::vector<std::string> limits;
  for (const ModeProjection& mode : there.modes)
    if (mode.step.value) limits.push_back(fmt::format("{} {} of {} launches", mode.mode, limits_text(mode), mode.launches));
  if (!limits.empty()) line(out, "  limited by ", fmt::format("{}", fmt::join(limits, "; ")));
  for (const ModeProjection& mode : there.modes) {
    const std::string who = "  " + pad_right(mode.mode, 11);
    if (!mode.no_time.empty()) line(out, who, "no time projected: " + mode.no_time);
    else if (mode.there.support != Support::native) line(out, who, fmt::format("{}: {}", name(mode.there.support), mode.there.why));
  }
  assumptions(there, out);
}

json number(const Number& value) { return value && std::isfinite(*value) ? json(*value) : json(nullptr); }
json count(const Count& value) { return value ? json(*value) : json(nullptr); }

json figure(const Figure& f) {
  return {{"value", number(f.value)}, {"low", number(f.low)}, {"high", number(f.high)}, {"provenance", name(f.provenance)}};
}

json spread(const Share& share) {
  return {{"low", share.spread.low}, {"likely", share.spread.likely}, {"high", share.spread.high}, {"from", share.samples == 0 ? "assumed" : "fitted"}, {"samples", share.samples}, {"error", number(share.error)}};
}

json mode_json(const ModeProjection& m) {
  json limited = json::object(), nodes = json::array();
  for (std::size_t i = 0; i < m.limited.size(); ++i) limited[std::string(name(static_cast<Limit>(i)))] = number(m.limited[i]);
  for (const ProjectedLaunch& node : m.nodes)
    nodes.push_back({{"node", node.name}, {"operation", node.operation}, {"format", node.format}, {"calls", node.calls}, {"seconds", figure(node.seconds)}, {"limit", node.seconds.value ? json(name(node.limit)) : json(nullptr)}});
  return {{"mode", m.mode},
          {"runs", name(m.there.support)},
          {"why", m.there.why},
          {"step_seconds", figure(m.step)},
          {"no_time", m.no_time.empty() ? json(nullptr) : json(m.no_time)},
          {"speed_against_fp32", figure(m.speed)},
          {"tokens_per_second", figure(m.tokens_per_second)},
          {"launches", m.launches},
          {"limited_by", limited},
          {"plan_bytes", count(m.plan_bytes)},
          {"memory_bytes", figure(m.memory)},
          {"fits", name(m.fits)},
          {"largest_batch", count(m.largest_batch)},
          {"largest_batch_capped", m.batch_capped},
          {"nodes", nodes}};
}

json gpu_json(const GpuProjection& there) {
  json shares = json::object(), modes = json::array();
  for (std::size_t c = 0; c < work_class_count; ++c)
    for (std::size_t s = 0; s < work_size_count; ++s)
      shares[std::string(name(static_cast<WorkClass>(c)))][std::string(name(static_cast<WorkSize>(s)))] = spread(there.attainable.share[c][s]);
  for (const ModeProjection& mode : there.modes) modes.push_back(mode_json(mode));
  return {{"asked", there.asked},
          {"gpu", there.gpu.name},
          {"compute_capability", capability_text(there.gpu.capability)},
          {"memory_bytes", {{"least", there.gpu.least_memory_bytes()}, {"greatest", there.gpu.greatest_memory_bytes()}}},
          {"attainable_shares", shares},
          {"launch_seconds", spread(there.attainable.launch)},
          {"modes", modes}};
}

json checked_json(const CheckedProjection& c) {
  return {{"file", c.file}, {"mode", c.mode}, {"gpu", c.gpu}, {"measured_seconds", c.measured}, {"projected_seconds", figure(c.projected)}, {"error", number(c.error)}, {"within_range", c.within}};
}

}  // namespace

void write_checked_text(const Projection& projection, std::ostream& out) {
  if (projection.checked.empty()) return;
  out << "\nmeasured runs, each projected from the others\n";
  out << "  GPU             mode         measured   projected        from…to    error\n";
  double worst = 0.0;
  for (const CheckedProjection& c : projection.checked) {
    out << "  " << pad_right(shorten(printable(c.gpu), 15), 16) << pad_right(shorten(printable(c.mode), 10), 10) << pad_left(seconds_text(c.measured), 11)
        << pad_left(c.projected.value ? seconds_text(*c.projected.value) : "unknown", 12) << pad_left(range(c.projected), 15)
        << pad_left(c.error ? fmt::format("{:+.0f} %", 100.0 * *c.error) : "-", 9) << (c.error && !c.within ? " !" : "") << '\n';
    worst = std::max(worst, std::fabs(c.error.value_or(0.0)));
  }
  line(out, "  ", fmt::format("greatest error {:.0f} %; ! the measured time lies outside of the projected range", 100.0 * worst));
}

void write_projection_text(const Projection& p, std::ostream& out) {
  if (!p.gpus.empty()) {
    line(out, "", fmt::format("{}: {}{}. Every time and memory below is projected, with its range", p.experiment.empty() ? p.file : p.experiment, p.plan_from,
                              p.batch ? fmt::format(", batch {}", *p.batch) : ""));
    for (const GpuProjection& there : p.gpus) gpu_lines(there, out);
    out << '\n';
    line(out, "memory     ", fmt::format("the plan's peak, exact, and {:g} GB for context and libraries ({:g}…{:g}, assumed); batch: the greatest that fits for certain", context_bytes.likely * 1e-9, context_bytes.low * 1e-9, context_bytes.high * 1e-9));
    if (p.calibrated_by.empty()) line(out, "fitted to  ", "no measured run on a GPU: all shares are assumed");
    for (const std::string& run : p.calibrated_by) line(out, "fitted to  ", run);
  }
  for (const std::string& note : p.notes) line(out, "note       ", note);
  write_checked_text(p, out);
}

void write_projection_json(const Projection& p, std::ostream& out) {
  json gpus = json::array(), checked = json::array();
  for (const GpuProjection& there : p.gpus) gpus.push_back(gpu_json(there));
  for (const CheckedProjection& c : p.checked) checked.push_back(checked_json(c));
  const json document = {{"kind", "ulpscope project"},   {"version", 1},
                         {"provenance", "projected"},    {"file", p.file},
                         {"experiment", p.experiment},   {"plan", p.plan_from},
                         {"batch", count(p.batch)},      {"context_bytes", {{"low", context_bytes.low}, {"likely", context_bytes.likely}, {"high", context_bytes.high}, {"from", "assumed"}}},
                         {"fitted_to", p.calibrated_by}, {"gpus", gpus},
                         {"checked", checked},           {"notes", p.notes}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace ulpscope::reports
