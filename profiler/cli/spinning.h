// How long a thread that waits for its team keeps its processor.
#pragma once

namespace ulpscope::profiler {

/// Turns in libgomp's waiting loop, about 0.1 ms. Its own 300000 take milliseconds: a waiting thread then burns the time
/// slices in which, on a machine with other work, the thread that it waits for would run.
inline constexpr const char* bounded_spins = "10000";

/// Starts the program anew with GOMP_SPINCOUNT=bounded_spins, because libgomp reads its variables before main() begins.
/// Returns if there is nothing to do: the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY, or it cannot be done.
void bound_spinning(char* const* argv);

}  // namespace ulpscope::profiler
