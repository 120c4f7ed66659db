// Tables of a report: memory and time.
#include "reports/export/report_tables.h"
#include "reports/export/table_fields.h"

namespace ulpscope::reports::table_parts {
namespace {

void memory(const Report& report, const TableRows& row) {
  for (const ModeMemory& m : report.memory.modes) {
    const auto peak = [&](const char* kind, const std::optional<MemoryRecord>& record) {
      if (!record) return;
      row(of_run(report, m.run, {kind, "total", field(record->total_bytes), is(record->total_bytes.has_value(), record->provenance)}));
      for (int i = 0; i < memory_category_count; ++i) {
        const Count bytes = record->bytes[static_cast<std::size_t>(i)];
        row(of_run(report, m.run, {kind, std::string(name(static_cast<MemoryCategory>(i))), field(bytes), is(bytes.has_value(), Provenance::computed)}));
      }
    };
    peak("peak", m.peak);
    peak("predicted", m.predicted);
  }
}

void memory_step(const Report& report, const TableRows& row) {
  for (const ModeMemory& m : report.memory.modes)
    for (const MemoryPoint& p : m.curve) row(of_run(report, m.run, {field(p.position), p.node, p.phase, field(p.bytes), std::string(name(m.curve_provenance))}));
}

void memory_why(const Report& report, const TableRows& row) {
  for (const ModeMemory& m : report.memory.modes)
    for (const std::string& text : m.why) row(of_run(report, m.run, {text}));
}

/// file, mode, seed: a time report is of one file.
template <class Body>
void each_mode(const Report& report, const TableRows& row, Body&& body) {
  for (const TimeReport& time : report.time)
    for (const ModeTime& mode : time.modes)
      body(mode, [&](std::vector<std::string> more) {
        std::vector<std::string> all{time.file, mode.run.mode, field(mode.run.seed)};
        all.insert(all.end(), more.begin(), more.end());
        row(std::move(all));
      });
}

std::vector<TableColumn> time_columns(std::vector<TableColumn> more) {
  std::vector<TableColumn> all{{"file", "", "", "run file"}, {"mode", "", "", "precision mode"}, {"seed", "", "", "of the run that stands for it"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Figure plain(const Number& value, Provenance provenance) {
  Figure f;
  f.value = value;
  if (value) f.provenance = provenance;
  return f;
}

void steps(const Report& report, const TableRows& row) {
  each_mode(report, row, [](const ModeTime& m, const auto& add) {
    const auto line = [&](const char* figure, const char* unit, const Figure& f) {
      add({figure, unit, field(f.value), field(f.spread), field(f.low), field(f.high), field(f.samples), is(f.known(), f.provenance)});
    };
    line("seconds", "s/step", m.step);
    line("device_seconds", "s/step", m.device_step);
    line("nodes_sum", "s/step", m.nodes_sum);
    line("between", "s/step", m.between);
    line("between_share", "", plain(m.between_share, m.between.provenance));
    line("ledger_extra", "s/step", m.ledger_extra);
    line("products_share", "", m.bound.products);
    line("lower_share", "", m.bound.lower);
    line("products_free", "", m.bound.free);
    line("factor", "", m.bound.factor);
    line("products_ideal", "", m.bound.ideal);
    line("speed", "", m.bound.speed);
    if (!m.device) return;
    line("kernels_per_step", "1/step", m.device->kernels_per_step);
    line("busy", "", m.device->busy);
    line("tensor_core_share", "", m.device->tensor_core_share);
  });
}

void categories(const Report& report, const TableRows& row) {
  each_mode(report, row, [](const ModeTime& m, const auto& add) {
    for (const CategoryTime& c : m.categories)
      add({std::string(name(c.category)), field(c.launches), field(c.untimed), field(c.seconds.value), field(c.share), field(c.of_step), field(c.flops), field(c.bytes), field(c.tflops), field(c.gbps),
           is(c.seconds.known(), c.seconds.provenance)});
  });
}

void nodes(const Report& report, const TableRows& row) {
  each_mode(report, row, [](const ModeTime& m, const auto& add) {
    for (const NodeTime& n : m.nodes)
      add({n.name, n.operation, std::string(name(n.category)), n.phase ? std::string(name(*n.phase)) : "", n.compute_format, n.formats, field(static_cast<std::int64_t>(n.members.size())), field(n.calls),
           field(n.kernels), field(n.seconds.value), field(n.share), field(n.flops), field(n.bytes), field(n.tflops), field(n.gbps), field(n.of_peak), std::string(name(n.tensor_cores)),
           is(n.seconds.known(), n.seconds.provenance)});
  });
}

void ledger(const Report& report, const TableRows& row) {
  each_mode(report, row, [](const ModeTime& m, const auto& add) {
    for (const LedgerItem& i : m.ledger) {
      const auto line = [&](const char* figure, const char* unit, const Figure& f) {
        add({i.key, figure, unit, i.per_step ? "step" : "run", field(f.value), is(f.known(), f.provenance), field(i.at_least), i.note});
      };
      line("count", "", i.count);
      line("bytes", "B", i.bytes);
      line("seconds", "s", i.seconds);
      line("in_fp32", "s", i.in_fp32);
      line("extra", "s", i.extra);
    }
  });
}

}  // namespace

std::vector<ReportTable> resource_tables() {
  return {
      {"memory.csv",
       "memory of each mode at its peak, and as it was planned",
       run_columns({{"kind", "", "", "peak; predicted: by the memory plan, before the first step"}, {"category", "", "", "total, or what the bytes are for"}, {"bytes", "B", "column provenance", "held"}, provenance_column}),
       memory},
      {"memory_step.csv",
       "memory over one step, thinned by its least and greatest; computed: results that are still to be read, without weights, optimizer state, gaps and workspace",
       run_columns({{"position", "", "counted", "of the node, in execution order, from 0"}, {"node", "", "", "after which"}, {"phase", "", "", "forward, backward, update"}, {"bytes", "B", "column provenance", "held"}, provenance_column}),
       memory_step},
      {"memory_why.csv", "why memory did not halve", run_columns({{"text", "", "", "by category, the greatest part first [computed]"}}), memory_why},
      {"time_steps.csv",
       "time of a step, and what bounds it",
       time_columns({{"figure", "", "", "key, as in member \"time\" of the JSON report"},
                     {"unit", "", "", "of the figure"},
                     {"value", "column unit", "column provenance", "the figure; of seconds the median"},
                     {"spread", "column unit", "column provenance", "standard deviation"},
                     {"low", "column unit", "column provenance", "lower quartile"},
                     {"high", "column unit", "column provenance", "upper quartile"},
                     {"samples", "", "counted", "that it rests on"},
                     provenance_column}),
       steps},
      {"time_categories.csv",
       "time by kind of work",
       time_columns({{"category", "", "", "of node"},
                     {"launches", "", "counted", "of the plan, in one pass"},
                     {"untimed", "", "counted", "of them, without a time"},
                     {"seconds", "s/step", "column provenance", "of those that were timed"},
                     {"share", "", "computed", "of the sum over all nodes"},
                     {"of_step", "", "computed", "of the step"},
                     {"flops", "FLOP/step", "computed", "from shapes"},
                     {"bytes", "B/step", "computed", "from shapes"},
                     {"tflops", "TFLOP/s", "column provenance", "achieved"},
                     {"gbps", "GB/s", "column provenance", "achieved"},
                     provenance_column}),
       categories},
      {"time_nodes.csv",
       "time by node, the greatest first",
       time_columns({{"node", "", "", "its name, or a kernel's that belongs to no node"},
                     {"operation", "", "", "its kind"},
                     {"category", "", "", "as in time_categories.csv"},
                     {"phase", "", "", "forward, backward, update"},
                     {"compute_format", "", "", "in which it computes"},
                     {"formats", "", "", "what it reads > writes"},
                     {"members", "", "counted", "further nodes launched with it, whose time is in it"},
                     {"calls", "1/step", "counted", "of the node"},
                     {"kernels", "1/step", "counted", "empty: not traced"},
                     {"seconds", "s/step", "column provenance", "in it"},
                     {"share", "", "computed", "of the sum over all nodes"},
                     {"flops", "FLOP/step", "computed", "from shapes, members included"},
                     {"bytes", "B/step", "computed", "from shapes"},
                     {"tflops", "TFLOP/s", "column provenance", "achieved"},
                     {"gbps", "GB/s", "column provenance", "achieved"},
                     {"of_peak", "", "column provenance", "achieved / the device's peak in this format"},
                     {"tensor_cores", "", "", "yes, no, unknown, none, not_a_product"},
                     provenance_column}),
       nodes},
      {"time_ledger.csv",
       "what mixed precision itself costs",
       time_columns({{"item", "", "", "key"},
                     {"figure", "", "", "count, bytes, seconds, in_fp32 (seconds of the same in fp32), extra (seconds - in_fp32)"},
                     {"unit", "", "", "of the figure"},
                     {"per", "", "", "step, run"},
                     {"value", "column unit", "column provenance", "the figure"},
                     provenance_column,
                     {"at_least", "", "", "1: some of it has no time of its own"},
                     {"note", "", "", "in words"}}),
       ledger},
  };
}

}  // namespace ulpscope::reports::table_parts
