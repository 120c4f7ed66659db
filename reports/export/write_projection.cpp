#include "reports/export/write_projection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/write_hardware.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

void line(std::ostream& out, std::string_view head, const std::string& text) { out << in_lines(text, head); }

/// A blank, at least, and the text, to `width` columns.
std::string cell(const std::string& text, std::size_t width) { return pad_left(" " + text, width); }

std::string gb_text(double bytes) {
  const double gb = bytes * 1e-9;
  if (gb < 999.5) return fmt::format("{:.3g} GB", gb);
  if (gb < 99999.5) return fmt::format("{:.0f} GB", gb);
  return gb < 99999.5e3 ? fmt::format("{:.0f} TB", gb * 1e-3) : fmt::format("{:.0f} PB", gb * 1e-6);
}

std::string memory_text(const Gpu& gpu) {
  if (gpu.memory_bytes) return fmt::format("{:.2f} GB", static_cast<double>(*gpu.memory_bytes) * 1e-9);
  if (gpu.memory_gb <= 0.0) return "memory unknown";
  return fmt::format("{} GB", gpu.memory_gb);
}

std::string gpu_text(const GpuProjection& there) {
  const Gpu& gpu = there.gpu;
  std::string text = fmt::format("{}, compute capability {}, {}", gpu.name, capability_text(gpu.capability), memory_text(gpu));
  if (gpu.bandwidth_gbs) text += fmt::format(", {} GB/s{}", *gpu.bandwidth_gbs, gpu.unverified.contains("bandwidth_gbs") ? " (unverified)" : "");
  return text;
}

/// Of at most 9 and 14 columns.
std::string step_text(const Figure& figure) {
  if (!figure.value) return "unknown";
  const std::string text = seconds_text(*figure.value);
  return columns(text) <= 9 ? text : fmt::format("{:.1e} s", *figure.value);
}
std::string range(const Figure& figure) {
  if (!figure.value || !figure.low || !figure.high) return "";
  const std::string text = range_text(figure, FigureStyle::seconds);
  return columns(text) <= 14 ? text : fmt::format("{:.0e}…{:.0e} s", *figure.low, *figure.high);
}
std::string speed_text(const Figure& figure) {
  if (!figure.value) return "-";
  return *figure.value < 1000.0 ? fmt::format("{:.2f}", *figure.value) : fmt::format("{:.1e}", *figure.value);
}

/// "2.77 (1.52…5.04)"
std::string speed_range(const Figure& f) { return fmt::format("{} ({}…{})", speed_text(f), speed_text({.value = f.low}), speed_text({.value = f.high})); }

std::string limits_text(const ModeProjection& mode) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < mode.limited.size(); ++i)
    if (mode.limited[i].value_or(0.0) > mode.limited[most].value_or(0.0)) most = i;
  if (!mode.limited[most]) return "";
  return fmt::format("{} {:.0f} % of the time ({} of {} launches)", name(static_cast<Limit>(most)), 100.0 * *mode.limited[most], mode.limited_launches[most], mode.launches);
}

std::string batch_text(const ModeProjection& mode) {
  if (!mode.largest_batch) return "-";
  return fmt::format("{}{}", mode.batch_capped ? "≥" : "", *mode.largest_batch);
}

/// Neither faster nor slower for certain. What is 1 whatever the shares is no question.
bool cannot_be_told(const ModeProjection& mode) { return mode.speed.low && mode.speed.high && *mode.speed.low < 1.0 && *mode.speed.high > 1.0; }

constexpr const char* head = "  mode       there        a step        from…to  x fp32    memory  fits    batch\n";

void mode_line(const ModeProjection& mode, std::ostream& out) {
  std::string text = "  " + pad_right(shorten(printable(mode.mode), 10), 11) + pad_right(name(mode.there.support), 9);
  text += cell(step_text(mode.step), 10) + cell(range(mode.step), 15) + cell(speed_text(mode.speed), 8);
  text += cell(mode.memory.value ? gb_text(*mode.memory.value) : "unknown", 10);
  text += cell(mode.fits == Fits::unknown ? "?" : std::string(name(mode.fits)), 6) + cell(batch_text(mode), 9);
  out << text << '\n';
}

/// A share (or the launch cost) and the likely seconds that rest on it.
struct Carried {
  double seconds = 0.0;
  std::string share{};  ///< for programs
  std::string size{};
  std::string text{};
};

constexpr const char* part_of[work_class_count] = {"the matrix units' peak", "the peak in attention", "the peak in convolutions", "the fp32 peak", "the bandwidth"};

std::string origin(const Share& share, const char* what, const char* more) {
  if (share.samples == 0) return "assumed";
  const std::string fitted = fmt::format("fitted to {} {}", share.samples, share.samples == 1 ? what : more);
  return share.error ? fmt::format("{}, error {:.0f} %", fitted, 100.0 * *share.error) : fitted + ", range assumed";
}

/// Of these modes together, that with the most time first; those with none are left out.
std::vector<Carried> rests_on(const Attainable& a, const std::vector<ModeProjection>& modes) {
  std::vector<Carried> all;
  const Spread& launch = a.launch.spread;
  all.push_back({0.0, "launch_seconds", "",
                 fmt::format("the launch cost, {:.3g} µs ({:.3g}…{:.3g}, {})", 1e6 * launch.likely, 1e6 * launch.low, 1e6 * launch.high, origin(a.launch, "run", "runs"))});
  for (std::size_t c = 0; c < work_class_count; ++c)
    for (std::size_t s = 0; s < work_size_count; ++s) {
      const Share& share = a.share[c][s];
      const std::string size(name(static_cast<WorkSize>(s)));
      all.push_back({0.0, std::string(name(static_cast<WorkClass>(c))), size,
                     fmt::format("{:.3g} of {} in {} launches ({:.3g}…{:.3g}, {})", share.spread.likely, part_of[c], size, share.spread.low, share.spread.high, origin(share, "launch", "launches"))});
    }
  for (const ModeProjection& mode : modes) {
    if (!mode.step.value) continue;
    all.front().seconds += mode.limited[static_cast<std::size_t>(Limit::launch)].value_or(0.0) * *mode.step.value;
    for (std::size_t i = 0; i + 1 < all.size(); ++i) all[i + 1].seconds += mode.carried[i / work_size_count][i % work_size_count];
  }
  std::erase_if(all, [](const Carried& one) { return one.seconds <= 0.0; });
  std::stable_sort(all.begin(), all.end(), [](const Carried& x, const Carried& y) { return x.seconds > y.seconds; });
  return all;
}

/// The shares that carried the figures above.
void assumptions(const GpuProjection& there, std::ostream& out) {
  const std::vector<Carried> all = rests_on(there.attainable, there.modes);
  double sum = 0.0;
  for (const Carried& one : all) sum += one.seconds;
  std::vector<std::string> words;
  std::size_t few = 0;
  for (const Carried& one : all) {
    if (one.seconds < 0.005 * sum) ++few;
    else words.push_back(fmt::format("{:.0f} %{} on {}", 100.0 * one.seconds / sum, words.empty() ? " of the time" : "", one.text));
  }
  if (few > 0) words.push_back(few == 1 ? std::string("under 0.5 % on another") : fmt::format("under 0.5 % on each of {} others", few));
  if (!words.empty()) line(out, "  rests on   ", fmt::format("{}", fmt::join(words, "; ")));
}

void gpu_lines(const GpuProjection& there, std::ostream& out) {
  out << '\n';
  line(out, "", fmt::format("{}{}", gpu_text(there), there.asked == there.gpu.name ? "" : fmt::format(" (\"{}\")", there.asked)));
  out << head;
  for (const ModeProjection& mode : there.modes) mode_line(mode, out);
  std::vector<std::string> measured;
  for (const auto& [mode, seconds] : there.measured) measured.push_back(fmt::format("{} {}", printable(mode), seconds_text(seconds)));
  if (!measured.empty()) line(out, "  measured   ", fmt::format("{}: a step on this GPU, in the same file; what is measured goes before what is projected", fmt::join(measured, ", ")));
  std::vector<std::string> speeds;
  for (const ModeProjection& mode : there.modes)
    if (mode.speed.value && mode.mode != "fp32") speeds.push_back(fmt::format("{} {}{}", printable(mode.mode), speed_range(mode.speed), cannot_be_told(mode) ? ", not to be told from 1" : ""));
  if (!speeds.empty()) line(out, "  x fp32     ", fmt::format("{}", fmt::join(speeds, "; ")));
  std::vector<std::string> limits;
  for (const ModeProjection& mode : there.modes)
    if (mode.step.value) limits.push_back(fmt::format("{} {}", printable(mode.mode), limits_text(mode)));
  if (!limits.empty()) line(out, "  limited by ", fmt::format("{}", fmt::join(limits, "; ")));
  for (const ModeProjection& mode : there.modes) {
    const std::string who = "  " + pad_right(printable(mode.mode), 11);
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

json mode_json(const ModeProjection& m, const Attainable& attainable) {
  json limited = json::object(), launches = json::object(), beside = json::object(), carried = json::array(), nodes = json::array();
  for (const auto& [other, ratio] : m.beside) beside[other] = figure(ratio);
  for (std::size_t i = 0; i < m.limited.size(); ++i) {
    limited[std::string(name(static_cast<Limit>(i)))] = number(m.limited[i]);
    launches[std::string(name(static_cast<Limit>(i)))] = m.step.value ? json(m.limited_launches[i]) : json(nullptr);
  }
  for (const Carried& one : rests_on(attainable, {m}))
    carried.push_back({{"share", one.share}, {"size", one.size.empty() ? json(nullptr) : json(one.size)}, {"of_time", one.seconds / *m.step.value}});
  for (const ProjectedLaunch& node : m.nodes)
    nodes.push_back({{"node", node.name}, {"operation", node.operation}, {"format", node.format}, {"calls", node.calls}, {"seconds", figure(node.seconds)}, {"limit", node.seconds.value ? json(name(node.limit)) : json(nullptr)}});
  return {{"mode", m.mode},
          {"runs", name(m.there.support)},
          {"why", m.there.why},
          {"step_seconds", figure(m.step)},
          {"no_time", m.no_time.empty() ? json(nullptr) : json(m.no_time)},
          {"speed_against_fp32", figure(m.speed)},
          {"steps_beside", beside},
          {"tokens_per_second", figure(m.tokens_per_second)},
          {"launches", m.launches},
          {"limited_by", limited},
          {"limited_launches", launches},
          {"rests_on", carried},
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
  for (const ModeProjection& mode : there.modes) {
    modes.push_back(mode_json(mode, there.attainable));
    const auto own = std::find_if(there.measured.begin(), there.measured.end(), [&](const auto& one) { return one.first == mode.mode; });
    modes.back()["measured_step_seconds"] = own == there.measured.end() ? json(nullptr) : json(own->second);
  }
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
  Number worst;  // of those that have an error
  for (const CheckedProjection& c : projection.checked) {
    out << "  " << pad_right(shorten(printable(c.gpu), 15), 16) << pad_right(shorten(printable(c.mode), 10), 10) << pad_left(seconds_text(c.measured), 11)
        << cell(step_text(c.projected), 12) << cell(range(c.projected), 15)
        << pad_left(c.error ? fmt::format("{:+.0f} %", 100.0 * *c.error) : "-", 9) << (c.error && !c.within ? " !" : "") << '\n';
    if (c.error) worst = std::max(worst.value_or(0.0), std::fabs(*c.error));
  }
  line(out, "  ", worst ? fmt::format("greatest error {:.0f} %; ! the measured time lies outside of the projected range", 100.0 * *worst)
                        : "greatest error unknown: no time of these could be projected");
}

void write_projection_text(const Projection& p, std::ostream& out) {
  if (!p.gpus.empty()) {
    line(out, "", fmt::format("{}: {}{}. Every time and memory below is projected, with its range", p.experiment.empty() ? p.file : p.experiment, p.plan_from,
                              p.batch ? fmt::format(", batch {}", *p.batch) : ""));
    for (const GpuProjection& there : p.gpus) gpu_lines(there, out);
    out << '\n';
    const auto capped = [](const GpuProjection& there) { return std::any_of(there.modes.begin(), there.modes.end(), [](const ModeProjection& m) { return m.batch_capped; }); };
    line(out, "memory     ", fmt::format("the plan's peak, exact, and {:g} GB for context and libraries ({:g}…{:g}, assumed); batch: the greatest that fits for certain{}",
                                         context_bytes.likely * 1e-9, context_bytes.low * 1e-9, context_bytes.high * 1e-9,
                                         std::any_of(p.gpus.begin(), p.gpus.end(), capped) ? "; ≥: more would fit, but none greater can be run" : ""));
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
