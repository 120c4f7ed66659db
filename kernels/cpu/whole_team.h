// Work for some threads of a launch's team. For sources that are compiled once; team.h has it for the others.
#pragma once

#include <omp.h>

#include "kernels/launch.h"

namespace ulpscope {

/// body(thread) with thread < threads, each at most once (a team may turn out smaller than asked for), on the calling
/// thread alone if threads is 1. Every team has launch.threads threads, the rest waits: libgomp ends the threads that a
/// smaller team leaves out and starts them again for the next one, which costs more than they do, and allocates.
template <class Body>
void on_team(const Launch& launch, int threads, const Body& body) {
  if (threads <= 1) return body(0);
#pragma omp parallel num_threads(launch.threads)
  {
    const int thread = omp_get_thread_num();
    if (thread < threads) body(thread);
  }
}

}  // namespace ulpscope
