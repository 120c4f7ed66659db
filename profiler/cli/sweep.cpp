// ulpscope sweep: one matrix product at sizes around its own, timed in each mode.
#include "profiler/sweep/sweep.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>

#include "kernels/error.h"
#include "kernels/matmul.h"
#include "profiler/cli/command.h"
#include "profiler/cli/flags.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/sweep_products.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/load_data.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/make_device.h"
#include "reports/export/exporter.h"

namespace ulpscope::profiler {
namespace {

struct SweepArguments {
  ExperimentFlags flags;
  std::string around;
  bool products = false;
  std::string beside;
  std::string dimension = "columns";
  std::string modes;
  std::string sizes;
  std::int64_t rounds = 0;
  bool json = false;
  std::string output;
  bool force = false;
};

std::string counted(std::int64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::stringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

/// Ascending, `given` among them.
std::vector<std::int64_t> parse_sizes(const std::string& list, std::int64_t given) {
  constexpr std::int64_t most = 1 << 24;
  std::set<std::int64_t> sizes{given};
  for (const std::string& part : split(list)) {
    std::int64_t size = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || rest != part.data() + part.size() || size < 1 || size > most)
      throw UsageError(fmt::format("--sizes {}: \"{}\" is no size; it takes whole numbers from 1 to {} with commas between, such as 2040,2048,2055", list, part, most));
    sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

reports::SweepDimension parse_dimension(const std::string& word) {
  for (const auto dimension : {reports::SweepDimension::rows, reports::SweepDimension::columns, reports::SweepDimension::inner})
    if (word == reports::name(dimension)) return dimension;
  throw UsageError(fmt::format("--dimension {}: choices are rows, columns, inner", word));
}

void refuse_emulated_sums(const Experiment& experiment) {
  if (experiment.train.accumulate_as != MatrixUnit::none)
    throw UsageError("train.accumulate_as: a sweep times plain sums, not those of a matrix unit, whose emulation says nothing of its speed; leave it out");
}

SweepJob job_of(const SweepArguments& arguments, const Settings& settings, Device& device, Experiment& experiment) {
  const engine::Model model = settings.placed([&] { return engine::build_model(experiment.model, experiment.train.batch, true); });
  SweepJob job{.device = device, .experiment = experiment.name, .modes = {}, .dimension = parse_dimension(arguments.dimension), .sizes = {}, .rounds = arguments.rounds};
  for (const std::string& name : arguments.modes.empty() ? experiment.run.modes : split(arguments.modes)) {
    const engine::Mode& mode = engine::find_mode(name);
    const engine::StepPlan plan = settings.placed([&] { return engine::plan_step(device, model, mode, experiment.train); });
    job.modes.push_back({mode.name, find_product(plan, arguments.around), time_provenance(device, mode)});
  }
  const std::int64_t given = job.modes.front().product.size(job.dimension);
  job.sizes = arguments.sizes.empty() ? reports::sizes_around(given) : parse_sizes(arguments.sizes, given);
  return job;
}

/// What --products takes the place of.
void refuse_around(const SweepArguments& arguments, bool has_dimension) {
  if (!arguments.around.empty() || !arguments.sizes.empty() || has_dimension)
    throw UsageError("--products times every product of the step at its own size: --around, --sizes and --dimension go without it");
  if (arguments.output.ends_with(".csv")) throw UsageError(fmt::format("-o {}: with --products the file is JSON", arguments.output));
}

int sweep(const SweepArguments& arguments, bool has_dimension, const Invocation& call) {
  if (!arguments.beside.empty() && !arguments.products) throw UsageError("--beside goes with --products: a run file whose steps are held against them");
  if (arguments.products) refuse_around(arguments, has_dimension);
  if (arguments.around.empty() && !arguments.products) throw UsageError("--around which node? A matrix product, as ulpscope plan names it: --around lm_head; or --products for all of them");
  if (arguments.rounds < 0) throw UsageError(fmt::format("--rounds {}: how often each size is timed, 0 to let the time decide", arguments.rounds));
  if (!arguments.output.empty()) check_output_file(arguments.output, arguments.force, {arguments.flags.file(), arguments.beside});
  const Settings settings = arguments.flags.settings();
  if (arguments.products) {
    refuse_emulated_sums(settings.build());
    return sweep_products({split(arguments.modes), arguments.rounds, arguments.beside, arguments.json, arguments.output}, settings, call);
  }
  Experiment experiment = settings.build();
  settings.placed([&] { refuse_emulated_sums(experiment); });
  if (!experiment.data.features.empty()) load_data(experiment);  // they decide sizes of the model
  const std::unique_ptr<Device> device = settings.placed([&] { return make_device(experiment.run.device, static_cast<int>(experiment.run.threads)); });
  const SweepJob job = job_of(arguments, settings, *device, experiment);
  const std::int64_t needed = sweep_bytes(job), free = device->free_bytes().value_or(free_memory_bytes());
  if (needed > free)
    throw UsageError(fmt::format("the greatest of these products needs {} of memory, and {} are free: lower train.batch (now {}), or give smaller --sizes",
                                 bytes_text(static_cast<double>(needed)), bytes_text(static_cast<double>(free)), experiment.train.batch));
  matmul_self_test(*device);
  const Interrupt interrupt;
  const reports::SweepInput input = run_sweep(
      job,
      [&](std::int64_t rounds, double seconds) {
        call.err << fmt::format("timing {} in {}, {}, {}\n", counted(std::ssize(job.sizes), "size"), counted(std::ssize(job.modes), "mode"), counted(rounds, "round"), seconds < 1.0 ? "less than a second" : fmt::format("about {:.0f} s", seconds)) << std::flush;
      },
      [] { return Interrupt::requested(); });
  const reports::Sweep result = reports::sweep_result(input);
  if (!arguments.output.empty()) {
    std::ostringstream text;
    reports::make_exporter(arguments.output.ends_with(".csv") ? "csv" : "json")->write(result, text);
    write_output_file(arguments.output, text.str());
  }
  reports::make_exporter(arguments.json ? "json" : "text")->write(result, call.out);
  return Interrupt::requested() ? Interrupt::exit_code() : exit_ok;
}

}  // namespace

Action declare_sweep(CLI::App& app) {
  auto arguments = std::make_shared<SweepArguments>();
  arguments->flags.declare_for_sweep(app);
  app.add_option("--around", arguments->around, "the node whose product is timed, as ulpscope plan names it (also NODE.dx, NODE.dweight)")->type_name("NODE");
  app.add_flag("--products", arguments->products, "instead: every matrix product of a step, at its own size, alone");
  app.add_option("--beside", arguments->beside, "with --products: hold the steps of this run file against them")->type_name("RUN.ulp");
  CLI::Option* const dimension = app.add_option("--dimension", arguments->dimension, "which of its sizes is swept: columns (of the result, the default), rows, inner")->type_name("WORD");
  app.add_option("--modes", arguments->modes, "these modes; without it those of run.modes")->type_name("LIST");
  app.add_option("--sizes", arguments->sizes, "these sizes, and its own; without it its neighbours and the multiples of 8, 64 and 128 around it")->type_name("LIST");
  app.add_option("--rounds", arguments->rounds, "time each size so often; without it about 20 seconds")->type_name("N");
  app.add_flag("--json", arguments->json, "print JSON");
  app.add_option("-o,--output", arguments->output, "write it there too: CSV if the name ends in .csv, else JSON")->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace that file if it is there");
  app.footer(wrapped("On the experiment's device. What is claimed comes from this timing alone, above twice its noise and in nine rounds of ten. On a CPU every mode but fp32 is emulated: nothing is claimed from its times.", ""));
  return [arguments, dimension](const Invocation& call) { return sweep(*arguments, dimension->count() > 0, call); };
}

}  // namespace ulpscope::profiler
