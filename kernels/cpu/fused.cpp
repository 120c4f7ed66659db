// The operation "fused": a chain of operations over one run of elements after the other (kernels/fused.h). A run's
// values pass from stage to stage in fp32 in a thread's scratch, each rounded to its planned format on the way.
#include "kernels/fused.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// One stage as runs walk it. A slot is a run's length of a thread's scratch.
struct Link {
  const StageFunctions* functions = nullptr;   ///< null: the product in front
  int reads = 0;
  View read[max_reads];
  int source[max_reads] = {};                  ///< the link it comes from; -1: memory
  int read_slot[max_reads] = {};
  View write;
  int write_slot = 0;
  bool stored = true;
  bool read_later = false;                     ///< by another link
  int first_tally = 0;
  alignas(64) unsigned char body[stage_body_bytes];
};

struct Chain {
  Link link[most_stages];
  int links = 0;
  int slots = 0;
  int outputs = 0;                             ///< of all links: tallies
  int cost = 0;
  bool product = false;
  bool rows = false;
  std::int64_t elements = 0;
  std::int64_t length = tile_length;           ///< of a run
  std::size_t shared_bytes = 0;                ///< scratch of the stages themselves
  float* scratch = nullptr;                    ///< of the threads
  RoundingTally* tallies = nullptr;            ///< behind a product, range only: [thread][output]; null: nobody looks
  RoundingCounts* counts[max_counted] = {};    ///< of all outputs, null where nobody looks

  std::size_t slot_floats() const { return padded(length); }
  std::size_t thread_floats() const { return slot_floats() * static_cast<std::size_t>(slots); }
};

void make_link(Link& link, const FusedStage& member, Chain& chain, int index) {
  const Launch& launch = *member.launch;
  const Stage& stage = *member.kernel->stage;
  link.functions = static_cast<const StageFunctions*>(stage.functions);
  link.reads = stage.reads;
  for (int r = 0; r < stage.reads; ++r) {
    link.source[r] = member.source[r];
    if (link.source[r] >= index) fail("fused", "a stage reads the result of a later one");
    if (link.source[r] >= 0) {
      chain.link[link.source[r]].read_later = true;
    } else {
      link.read[r] = broadcast_view("fused", launch.in[stage.read[r]], launch.out[0].shape);
      link.read_slot[r] = chain.slots++;
    }
  }
  chain.cost += link.functions->cost;
  if (link.functions->scratch_bytes != nullptr) {
    chain.shared_bytes += (link.functions->scratch_bytes(launch) + 63u) / 64u * 64u;
  }
  if (!stage.row) return;
  const std::int64_t length = row_length(launch.out[0]);
  if (chain.product) fail("fused", "a stage behind a product needs whole rows");
  if (chain.rows && chain.length != length) fail("fused", "the stages have rows of different lengths");
  chain.rows = true;
  chain.length = length;
}

/// Everything but the bodies.
void make_chain(const FusedLaunch& fused, Chain& chain) {
  if (fused.count < 1 || fused.count > most_stages) fail("fused", "too many stages, or none");
  for (int i = 0; i < fused.count; ++i) {
    const FusedStage& member = fused.stages[i];
    Link& link = chain.link[i];
    link.write = view_of(member.launch->out[0]);
    link.write_slot = chain.slots++;
    link.stored = member.stored;
    link.first_tally = chain.outputs;
    chain.outputs += member.launch->out_count;
    if (i == 0) chain.elements = link.write.elements;
    if (link.write.elements != chain.elements) fail("fused", "the stages' results have different sizes");
    if (i == 0 && member.kernel->takes_epilogue) {
      chain.product = true;
    } else if (member.kernel->stage != nullptr) {
      make_link(link, member, chain, i);
    } else {
      fail("fused", "an operation has to be launched alone");
    }
  }
  if (chain.outputs > max_counted) fail("fused", "too many results");
  chain.links = fused.count;
}

/// Rounds values to a format where they are: what storing and reading them would give.
void round_in_place(Format format, std::int64_t n, float* values, RoundingTally* tally) {
  if (format == Format::fp32 && tally == nullptr) return;
  alignas(64) std::uint64_t raw[tile_length];
  Buffer<float> after;
  for (std::int64_t done = 0; done < n; done += tile_length) {
    const int length = smaller(n - done, tile_length);
    float* x = values + done;
    if (tally != nullptr && range_only(*tally)) {
      count_range(x, length, static_cast<float>(info(format).overflow_threshold), *tally);
      if (format == Format::fp32) continue;
    }
    const float* rounded = x;
    if (format != Format::fp32) {
      narrow_tile(format, x, raw, static_cast<std::size_t>(length));
      widen_tile(format, raw, after.value, static_cast<std::size_t>(length));
      rounded = after.value;
    }
    if (tally != nullptr && !range_only(*tally))
      count_block(x, rounded, length, static_cast<float>(info(format).min_normal), *tally);
    if (rounded != x) __builtin_memcpy(x, rounded, static_cast<std::size_t>(length) * sizeof(float));
  }
}

/// Rounds and stores a link's result; where it is afterwards for those that read it.
const float* settle(const Link& link, std::int64_t begin, std::int64_t n, float* values, float* slot, RoundingTally* tally) {
  if (!link.stored) {
    round_in_place(link.write.format, n, values, tally);
    return values;
  }
  write_run(link.write, begin, n, values, tally);
  if (!link.read_later || link.write.format == Format::fp32) return values;
  return read_run(link.write, begin, n, slot);
}

/// Elements [begin, begin + n) through the chain. product: the first link's values, if it is one.
void run_links(const Chain& chain, int thread, std::int64_t begin, std::int64_t n, float* product,
               RoundingTally* const* tally) {
  float* own = chain.scratch + static_cast<std::size_t>(thread) * chain.thread_floats();
  const auto slot = [&](int s) { return own + static_cast<std::size_t>(s) * chain.slot_floats(); };
  const float* result[most_stages] = {};
  RunArgs<float> args = {};
  args.begin = begin;
  args.row = chain.rows ? begin / chain.length : 0;
  args.n = n;
  for (int i = 0; i < chain.links; ++i) {
    const Link& link = chain.link[i];
    float* const own_slot = slot(link.write_slot);
    RoundingTally* const counted = tally[link.first_tally];
    if (link.functions == nullptr) {
      result[i] = settle(link, begin, n, product, own_slot, counted);
      continue;
    }
    for (int r = 0; r < link.reads; ++r) {
      args.in[r] = link.source[r] >= 0 ? result[link.source[r]] : read_run(link.read[r], begin, n, slot(link.read_slot[r]));
    }
    float* place = link.stored ? write_place(link.write, begin, own_slot, counted) : own_slot;
    args.out[0] = place;
    args.tally = tally + link.first_tally;
    link.functions->run(link.body, args);
    result[i] = settle(link, begin, n, place, own_slot, counted);
  }
}

void run_epilogue(const void* context, int thread, std::int64_t begin, std::int64_t n, float* values) {
  const Chain& chain = *static_cast<const Chain*>(context);
  RoundingTally* tally[max_counted];
  for (int o = 0; o < chain.outputs; ++o) {
    const bool counted = chain.tallies != nullptr && chain.counts[o] != nullptr;
    tally[o] = counted ? chain.tallies + thread * chain.outputs + o : nullptr;
  }
  for (std::int64_t done = 0; done < n; done += tile_length) {
    run_links(chain, thread, begin + done, smaller(n - done, tile_length), values + done, tally);
  }
}

std::size_t thread_bytes(const Launch& launch, const Chain& chain) {
  return static_cast<std::size_t>(launch.threads < 1 ? 1 : launch.threads) * chain.thread_floats() * sizeof(float);
}

/// Workspace: the stages' own, the threads' slots, what the product needs.
std::size_t fused_workspace(const Launch& launch) {
  const FusedLaunch& fused = *static_cast<const FusedLaunch*>(launch.params);
  Chain chain;
  make_chain(fused, chain);
  std::size_t bytes = chain.shared_bytes + thread_bytes(launch, chain);
  if (chain.product) {
    const Epilogue epilogue{run_epilogue, nullptr};
    Launch product = *fused.stages[0].launch;
    product.epilogue = &epilogue;
    product.counts = nullptr;
    product.threads = launch.threads;
    bytes += fused.stages[0].kernel->workspace_bytes(product);
  }
  return bytes;
}

/// The members' counts in a row; whether there are any.
bool gather_counts(const FusedLaunch& fused, RoundingCounts** counts) {
  bool any = false;
  int at = 0;
  for (int i = 0; i < fused.count; ++i) {
    const Launch& launch = *fused.stages[i].launch;
    for (int o = 0; o < launch.out_count; ++o) {
      counts[at] = launch.counts == nullptr ? nullptr : launch.counts[o];
      any = any || counts[at] != nullptr;
      ++at;
    }
  }
  return any;
}

/// Whoever works at a product's result is not known beforehand, and need not be: ranges are added up in any order.
void begin_ranges(Chain& chain, int threads, RoundingTally* tallies) {
  if (tallies == nullptr) fail("fused", "a product with counts has to be launched alone");
  chain.tallies = tallies;
  for (int o = 0; o < chain.outputs; ++o) {
    if (chain.counts[o] == nullptr) continue;
    if (!chain.counts[o]->range_only) fail("fused", "a product with more than ranges counted has to be launched alone");
    for (int t = 0; t < threads; ++t) begin_tally(tallies[t * chain.outputs + o], *chain.counts[o]);
  }
}

void add_ranges(const Chain& chain, int threads) {
  for (int t = 0; t < threads; ++t)
    for (int o = 0; o < chain.outputs; ++o)
      if (chain.counts[o] != nullptr) merge_counts(*chain.counts[o], chain.tallies[t * chain.outputs + o].counts);
}

void run_fused(const Launch& launch) {
  expect_workspace("fused", launch);
  const FusedLaunch& fused = *static_cast<const FusedLaunch*>(launch.params);
  Chain chain;
  make_chain(fused, chain);
  auto* memory = static_cast<unsigned char*>(launch.workspace);
  for (int i = 0; i < chain.links; ++i) {
    const StageFunctions* functions = chain.link[i].functions;
    if (functions == nullptr) continue;
    functions->prepare(*fused.stages[i].launch, memory, chain.link[i].body);
    if (functions->scratch_bytes != nullptr) memory += (functions->scratch_bytes(*fused.stages[i].launch) + 63u) / 64u * 64u;
  }
  chain.scratch = reinterpret_cast<float*>(memory);
  const bool counting = gather_counts(fused, chain.counts);
  if (chain.product) {
    const int threads = launch.threads < 1 ? 1 : launch.threads;
    if (counting) begin_ranges(chain, threads, fused.tallies);
    const Epilogue epilogue{run_epilogue, &chain};
    Launch product = *fused.stages[0].launch;
    product.epilogue = &epilogue;
    product.workspace = memory + thread_bytes(launch, chain);
    product.threads = launch.threads;
    product.counts = nullptr;   // they are the chain's
    fused.stages[0].kernel->run(product);
    if (counting) add_ranges(chain, threads);
    return;
  }
  Launch counted = launch;
  counted.out_count = chain.outputs;
  counted.counts = counting ? chain.counts : nullptr;
  const std::int64_t runs = chain.length == 0 ? 0 : (chain.elements + chain.length - 1) / chain.length;
  run_units(counted, runs, chain.elements * chain.cost,
            [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              for (std::int64_t run = first; run < last; ++run) {
                const std::int64_t begin = run * chain.length;
                const std::int64_t left = chain.elements - begin;
                run_links(chain, thread, begin, left < chain.length ? left : chain.length, nullptr, tally);
              }
            });
}

}  // namespace

void register_fused(KernelTable& table) { add_kernel(table, "fused", Format::fp32, run_fused, fused_workspace); }

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
