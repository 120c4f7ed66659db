// Splitting a launch over the OpenMP team. Included only by sources that are compiled once per instruction set.
//
// A launch is cut into units (tiles, rows, chunks). Results do not depend on who computes which unit. Without observers
// each thread takes one run of units. With observers the units are cut into at most 64 shards, the same for any number
// of threads; integers of the counts can be added in any order, the sums of doubles are kept per shard and added in the
// order of shards.
//
// Every team has launch.threads threads, even if some have nothing to do: libgomp ends the threads that a smaller team
// leaves out and starts them again for the next one, which costs more than they do, and allocates.
#pragma once

#include <omp.h>

#include <cstdint>

#include "kernels/cpu/tile_io.h"
#include "kernels/launch.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

constexpr int max_counted = 24;  ///< outputs of one launch, fused or not
constexpr int max_shards = 64;
/// Work for which a second thread pays: waking the team costs some microseconds.
constexpr std::int64_t work_per_thread = 16384;

struct ShardSums {
  double sum, squares, errors, squared_errors;
};

/// Threads for so much work, in units of about one cheap element.
inline int threads_for(const Launch& launch, std::int64_t work) {
  const std::int64_t useful = work / work_per_thread;
  const std::int64_t threads = useful < launch.threads ? useful : launch.threads;
  return threads < 1 ? 1 : static_cast<int>(threads);
}

enum class Looked { at_nothing, at_ranges, at_everything };

inline Looked observed(const Launch& launch) {
  Looked looked = Looked::at_nothing;
  for (int o = 0; launch.counts != nullptr && o < launch.out_count; ++o) {
    if (launch.counts[o] == nullptr) continue;
    if (!launch.counts[o]->range_only) return Looked::at_everything;
    looked = Looked::at_ranges;
  }
  return looked;
}

/// One thread's tallies, and where they go. Memory of what is not observed is not touched.
struct Tallies {
  alignas(RoundingTally) unsigned char memory[max_counted * sizeof(RoundingTally)];
  RoundingTally* slot[max_counted];  ///< null: that output is not observed
};

inline void begin(Tallies& t, const Launch& launch) {
  for (int o = 0; o < max_counted; ++o) {
    t.slot[o] = nullptr;
    if (o >= launch.out_count || launch.counts[o] == nullptr) continue;
    t.slot[o] = reinterpret_cast<RoundingTally*>(t.memory) + o;
    begin_tally(*t.slot[o], *launch.counts[o]);
  }
}

/// Moves the sums of a finished shard out of the tally.
inline void take_sums(Tallies& t, ShardSums (*sums)[max_counted], int shard) {
  for (int o = 0; o < max_counted; ++o) {
    if (t.slot[o] == nullptr || range_only(*t.slot[o])) continue;
    RoundingCounts& c = t.slot[o]->counts;
    sums[shard][o] = {c.sum, c.sum_of_squares, c.sum_of_errors, c.sum_of_squared_errors};
    c.sum = c.sum_of_squares = c.sum_of_errors = c.sum_of_squared_errors = 0.0;
  }
}

inline void add_tallies(Tallies& t, const Launch& launch) {
  for (int o = 0; o < max_counted; ++o) {
    if (t.slot[o] == nullptr) continue;
    finish_tally(*t.slot[o]);
    merge_counts(*launch.counts[o], t.slot[o]->counts);
  }
}

inline void add_sums(const ShardSums (*sums)[max_counted], int shards, const Launch& launch) {
  for (int o = 0; o < launch.out_count && o < max_counted; ++o) {
    if (launch.counts[o] == nullptr || launch.counts[o]->range_only) continue;
    RoundingCounts& c = *launch.counts[o];
    for (int s = 0; s < shards; ++s) {
      c.sum += sums[s][o].sum;
      c.sum_of_squares += sums[s][o].squares;
      c.sum_of_errors += sums[s][o].errors;
      c.sum_of_squared_errors += sums[s][o].squared_errors;
    }
  }
}

template <class Work>
__attribute__((noinline)) void run_observed(const Launch& launch, std::int64_t units, int threads, const Work& work) {
  const int shards = static_cast<int>(units < max_shards ? units : max_shards);
  ShardSums sums[max_shards][max_counted];
#pragma omp parallel num_threads(launch.threads) if (threads > 1)
  {
    const int thread = omp_get_thread_num();
    Tallies tallies;
    begin(tallies, launch);
#pragma omp for schedule(dynamic) nowait
    for (int s = 0; s < shards; ++s) {
      work(thread, units * s / shards, units * (s + 1) / shards, tallies.slot);
      take_sums(tallies, sums, s);
    }
#pragma omp critical
    add_tallies(tallies, launch);
  }
  add_sums(sums, shards, launch);
}

/// Ranges can be added up in any order: each thread takes one run of units, as if nobody looked. A team of one would allocate.
template <class Work>
__attribute__((noinline)) void run_ranges(const Launch& launch, std::int64_t units, int threads, const Work& work) {
  if (threads == 1) {
    Tallies tallies;
    begin(tallies, launch);
    work(0, 0, units, tallies.slot);
    return add_tallies(tallies, launch);
  }
#pragma omp parallel num_threads(launch.threads)
  {
    const int thread = omp_get_thread_num();
    const std::int64_t team = omp_get_num_threads() < threads ? omp_get_num_threads() : threads;
    if (thread < team) {
      Tallies tallies;
      begin(tallies, launch);
      work(thread, units * thread / team, units * (thread + 1) / team, tallies.slot);
#pragma omp critical
      add_tallies(tallies, launch);
    }
  }
}

/// work(thread, first, last, tally): units [first, last) by one thread; tally[o] is where output o is counted, or null.
/// `elements` is the work as threads_for counts it. thread < launch.threads.
template <class Work>
inline void run_units(const Launch& launch, std::int64_t units, std::int64_t elements, const Work& work) {
  if (units <= 0) return;
  const Looked looked = observed(launch);
  const std::int64_t wanted = threads_for(launch, looked == Looked::at_everything ? elements * 4 : elements);
  const int threads = static_cast<int>(wanted < units ? wanted : units);
  if (looked == Looked::at_ranges) return run_ranges(launch, units, threads, work);
  if (looked == Looked::at_everything) return run_observed(launch, units, threads, work);
  RoundingTally* none[max_counted] = {};
  if (threads == 1) return work(0, 0, units, none);
#pragma omp parallel num_threads(launch.threads)
  {
    // The team may turn out smaller than asked for.
    const int thread = omp_get_thread_num();
    const std::int64_t team = omp_get_num_threads() < threads ? omp_get_num_threads() : threads;
    if (thread < team) work(thread, units * thread / team, units * (thread + 1) / team, none);
  }
}

/// Stores one number that a launch computes outside of its units, counted if output o is observed.
template <class T>
inline void write_observed(const Launch& launch, int o, const View& view, T value) {
  if (launch.counts == nullptr || launch.counts[o] == nullptr) return write_element(view, 0, value);
  RoundingTally tally;
  begin_tally(tally, *launch.counts[o]);
  write_element(view, 0, value, &tally);
  finish_tally(tally);
  merge_counts(*launch.counts[o], tally.counts);
}

}  // namespace
}  // namespace ulpscope::cpu::ULPSCOPE_ISA
