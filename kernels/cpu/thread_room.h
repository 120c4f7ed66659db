// Whether as many threads as are asked for can be made. OpenMP's runtime ends the process when they cannot.
#pragma once

namespace ulpscope {

/// Makes so many threads at once and lets them go: a team of `threads`, and one more for whoever records. Throws UsageError
/// with how many there can be. What was found once is believed from then on.
void check_thread_room(int threads);

}  // namespace ulpscope
