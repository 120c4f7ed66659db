#include "profiler/cli/sweep_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "kernels/error.h"
#include "kernels/matmul.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/gpu_bus_id.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/make_device.h"
#include "profiler/experiment/run_record.h"
#include "profiler/sweep/gpu_seen.h"
#include "reports/analysis/time.h"
#include "reports/export/condition_json.h"
#include "reports/export/fields.h"

namespace ulpscope::profiler {
namespace {

using json = nlohmann::ordered_json;
using reports::Figure;
using reports::Provenance;

constexpr std::int64_t default_rounds = 7;

/// A mode's products, and its step where a run file has it.
struct Row {
  BareTimes bare;
  Figure step{};
  std::string no_step{};   ///< why there is none beside it
  reports::Number ratio() const {
    if (!step.value || !bare.seconds.value || *bare.seconds.value <= 0.0) return std::nullopt;
    return *step.value / *bare.seconds.value;
  }
};

BareJob job_of(const ProductsRequest& request, const Settings& settings, Device& device, const Experiment& experiment) {
  const engine::Model model = settings.placed([&] { return engine::build_model(experiment.model, experiment.train.batch, true); });
  BareJob job{.device = device, .modes = {}, .rounds = request.rounds > 0 ? request.rounds : default_rounds};
  for (const std::string& name : request.modes.empty() ? experiment.run.modes : request.modes) {
    const engine::Mode& mode = engine::find_mode(name);
    const engine::StepPlan plan = settings.placed([&] { return engine::plan_step(device, model, mode, experiment.train); });
    job.modes.push_back({mode.name, step_products(plan), time_provenance(device, mode)});
  }
  return job;
}

/// Throws UsageError for a recording of another device or of other sizes.
void take_steps(std::vector<Row>& rows, const std::string& path, const Device& device, const Experiment& experiment) {
  const reports::TimeReport recorded = reports::time_report(reports::RunFileReader(path));
  for (Row& row : rows) row.no_step = fmt::format("{} has no run of this mode", path);
  for (const reports::ModeTime& mode : recorded.modes) {
    if (mode.run.device != device.description().name)
      throw UsageError(fmt::format("--beside {}: its steps ran on {}, and the products run on {}", path, mode.run.device, device.description().name));
    if (mode.run.model != engine::name(experiment.model) || mode.run.batch != std::optional(experiment.train.batch))
      throw UsageError(fmt::format("--beside {}: it is a recording of {} with batch {}, not of {} with batch {}", path, mode.run.model, mode.run.batch.value_or(0),
                                   engine::name(experiment.model), experiment.train.batch));
    if (mode.run.model_json != recorded_model(experiment) || mode.run.micro_batches != std::optional(experiment.train.micro_batches))
      throw UsageError(fmt::format("--beside {}: it is a recording of a {} of other sizes ([model] or train.micro_batches differ)", path, mode.run.model));
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.bare.mode == mode.run.mode; });
    if (row == rows.end()) continue;
    if (mode.invalid.empty()) row->step = mode.device_step.known() ? mode.device_step : mode.step;
    row->no_step = !mode.invalid.empty() ? fmt::format("the time of its step is invalid: {}", mode.invalid) : row->step.value ? "" : "none of its steps was timed";
  }
}

json word(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json product_json(const BareProduct& p) {
  const SweptProduct& s = p.product.product;
  return {{"node", s.node},       {"batch", s.batch},     {"rows", s.rows},           {"columns", s.columns},
          {"inner", s.inner},     {"formats", s.formats()}, {"compute_format", s.compute_format()}, {"count", p.product.count},
          {"flops", p.product.flops()}, {"seconds", reports::figure_json(p.seconds)}, {"problem", p.problem}, {"why_invalid", word(p.invalid)}};
}

json result_json(const std::vector<Row>& rows, const GpuSeen& gpu, const Device& device, const Experiment& experiment) {
  json modes = json::array();
  for (const Row& row : rows) {
    json products = json::array();
    for (const BareProduct& p : row.bare.products) products.push_back(product_json(p));
    modes.push_back({{"mode", row.bare.mode},
                     {"seconds", reports::figure_json(row.bare.seconds)},
                     {"why_unknown", word(row.bare.why)},
                     {"clock", row.bare.by_device ? "device" : "host"},
                     {"flops", row.bare.flops},
                     {"flops_left_out", row.bare.left_out},
                     {"step_seconds", reports::figure_json(row.step)},
                     {"why_no_step", word(row.no_step)},
                     {"step_by_products", reports::number_json(row.ratio())},
                     {"products", std::move(products)}});
  }
  const std::optional<reports::GpuCondition> seen = gpu.condition();
  return {{"experiment", experiment.name}, {"device", device.description().name}, {"library", device.description().matmul_library},
          {"gpu_condition", seen ? reports::condition_json(*seen) : json(nullptr)}, {"gpu_unknown", word(gpu.unknown())}, {"modes", std::move(modes)}};
}

std::string time_cell(const Figure& f) { return f.value ? reports::seconds_text(*f.value) : "unknown"; }

/// The clock, what held it down, power and temperature while the products were timed. Of a CPU nothing is said.
void print_condition(const GpuSeen& gpu, const Device& device, std::ostream& out) {
  if (device.description().kind == DeviceKind::cpu) return;
  const auto number = [](const reports::Number& value, const char* unit) { return value ? fmt::format("{:.0f} {}", *value, unit) : fmt::format("unknown {}", unit); };
  std::string text = "GPU clock while they were timed: unknown.";
  if (const auto seen = gpu.condition()) {
    const Figure& clock = seen->core_clock_mhz;
    const std::string held = !seen->slowed.value ? "whether it was held down is unknown"
                             : *seen->slowed.value > 0.0 ? fmt::format("held down in {:.0f} % of them: {}", 100.0 * *seen->slowed.value, seen->why) : std::string("never held down");
    text = fmt::format("GPU clock while they were timed: {} ({} to {}) in {} samples, {}; {}, at most {} [measured].", number(clock.value, "MHz"), number(clock.low, "MHz"),
                       number(clock.high, "MHz"), seen->samples, held, number(seen->power_watts.value, "W"), number(seen->temperature_celsius.high, "°C"));
  }
  if (!gpu.unknown().empty()) text += fmt::format(" Unknown: {}.", gpu.unknown());
  out << wrapped(text, "") << '\n';
}

void print(const std::vector<Row>& rows, const GpuSeen& gpu, const Device& device, const Experiment& experiment, bool beside, std::ostream& out) {
  out << wrapped(fmt::format("matrix products of a step of {}, alone, on {}, by {}", experiment.name, device.description().name, device.description().matmul_library), "  ")
      << fmt::format("\n\n  {:<10} {:>11} {:>5} {:>9}", "mode", "products", "±", "TFLOP/s");
  out << (beside ? fmt::format(" {:>9} {:>11} {:>15}\n", "", "step", "step ÷ products") : std::string("\n"));
  for (const Row& row : rows) {
    const Figure& s = row.bare.seconds;
    out << fmt::format("  {:<10} {:>11} {:>5} {:>9} {:>9}", row.bare.mode, time_cell(s), s.value && s.spread ? fmt::format("{:.0f} %", 100.0 * *s.spread / *s.value) : "",
                       s.value ? reports::number_text(1e-12 * row.bare.flops / *s.value, 3) : "unknown", s.value ? reports::name(s.provenance) : "");
    const reports::Number ratio = row.ratio();
    out << (beside ? fmt::format(" {:>11} {:>15}\n", time_cell(row.step), ratio ? reports::number_text(*ratio, 3) : "unknown") : std::string("\n"));
  }
  out << '\n';
  double left_out = 0.0;
  for (const Row& row : rows) {
    left_out = std::max(left_out, row.bare.left_out / std::max(row.bare.left_out + row.bare.flops, 1.0));
    for (const BareProduct& p : row.bare.products) {
      if (!p.problem.empty()) out << wrapped(fmt::format("{}: {} has no time: {}", row.bare.mode, p.product.product.node, p.problem), "  ") << '\n';
      if (!p.invalid.empty()) out << wrapped(fmt::format("{}: the time of {} is invalid: {}", row.bare.mode, p.product.product.node, p.invalid), "  ") << '\n';
    }
    if (beside && !row.no_step.empty()) out << wrapped(fmt::format("{}: no step beside it: {}", row.bare.mode, row.no_step), "  ") << '\n';
  }
  print_condition(gpu, device, out);
  if (left_out > 0.0) out << wrapped(fmt::format("Left out: convolutions, {:.0f} % of the products' FLOPs.", 100.0 * left_out), "") << '\n';
  out << wrapped("Each product by itself, in contiguous memory, as often as a step has it [computed]; attention's as the products of its heads.", "") << '\n';
}

}  // namespace

int sweep_products(const ProductsRequest& request, const Settings& settings, const Invocation& call) {
  Experiment experiment = settings.build();
  if (!experiment.data.features.empty()) load_data(experiment);  // they decide sizes of the model
  const std::unique_ptr<Device> device = settings.placed([&] { return make_device(experiment.run.device, static_cast<int>(experiment.run.threads)); });
  const BareJob job = job_of(request, settings, *device, experiment);
  if (std::all_of(job.modes.begin(), job.modes.end(), [](const BareJob::Mode& m) { return m.products.products.empty(); }))
    throw UsageError(fmt::format("--products: {} has no matrix products that can be timed alone", experiment.name));
  const std::int64_t needed = bare_bytes(job), free = device->free_bytes().value_or(free_memory_bytes());
  if (needed > free)
    throw UsageError(fmt::format("the greatest of these products needs {} of memory, and {} are free: lower train.batch (now {})", bytes_text(static_cast<double>(needed)),
                                 bytes_text(static_cast<double>(free)), experiment.train.batch));
  std::vector<Row> rows;
  for (const BareJob::Mode& mode : job.modes) rows.push_back({BareTimes{.mode = mode.name}, {}});
  if (!request.beside.empty()) take_steps(rows, request.beside, *device, experiment);   // refused before anything is timed
  matmul_self_test(*device);
  const Interrupt interrupt;
  const bool on_gpu = device->description().kind == DeviceKind::cuda;
  std::function<std::unique_ptr<GpuWatch>(const Sink&)> watch;
  if (on_gpu) watch = [&](const Sink& sink) { return watch_gpu(gpu_bus_id(experiment.run.device), sink); };
  GpuSeen gpu(watch, on_gpu ? "" : "the products ran on a CPU, whose clock nobody was asked for");
  std::vector<BareTimes> times = bare_times(
      job,
      [&](std::size_t products, double seconds) {
        gpu.begin();
        call.err << fmt::format("timing {} products in {} rounds, {}\n", products, job.rounds, seconds < 1.0 ? "less than a second" : fmt::format("about {:.0f} s", seconds)) << std::flush;
      },
      [] { return Interrupt::requested(); },
      [&]() -> std::optional<reports::DevicePeaks> {
        gpu.finish();
        if (!on_gpu) return std::nullopt;
        return reports::device_peaks(reports::RunRecord{.device = device->description().name}, {}, gpu.samples());   // its clock may be above the table's
      });
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].bare = std::move(times[i]);
  const std::string document = result_json(rows, gpu, *device, experiment).dump(2) + "\n";
  if (!request.output.empty()) write_output_file(request.output, document);
  if (request.json)
    call.out << document;
  else
    print(rows, gpu, *device, experiment, !request.beside.empty(), call.out);
  return Interrupt::requested() ? Interrupt::exit_code() : exit_ok;
}

}  // namespace ulpscope::profiler
