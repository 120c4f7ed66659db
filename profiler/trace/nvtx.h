// NVTX as this program uses it: nested ranges of the domain "ulpscope" on the calling thread, with a category each and a number as
// payload. A tool (Nsight Systems, or a library named by NVTX_INJECTION64_PATH) attaches at the first call; without one nothing is
// called. Built without the toolkit's headers there is never a tool.
#pragma once

#include <cstdint>

namespace ulpscope::profiler::nvtx {

enum class Category : std::uint32_t { run = 1, phase, step, pass, node };
inline constexpr const char* domain_name = "ulpscope";
const char* name(Category category);

/// Whether this build has NVTX, and whether a tool listens.
bool built_in();
bool attached();

/// A name that is used often; null without a tool.
using Name = void*;
Name registered(const char* name);

/// Between attached tools' push and pop. Neither allocates here.
void push(Category category, Name name);
void push(Category category, Name name, std::int64_t payload);
void pop();

}  // namespace ulpscope::profiler::nvtx
