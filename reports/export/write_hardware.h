// The table of GPUs for people (80 columns) and for programs. An unverified figure is marked '?', a derived one '~'.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "reports/hardware/gpu.h"

namespace ulpscope::reports {

/// here: GPUs of this machine, as they describe themselves; they come first.
void write_gpus_text(const std::vector<Gpu>& gpus, const std::vector<Gpu>& here, std::ostream& out);
/// One in full: every figure, what each mode is there, notes and sources.
void write_gpu_text(const Gpu& gpu, std::ostream& out);
/// As wrap (layout.h), control characters replaced; a word that is longer than a line is broken, too.
std::string in_lines(std::string_view text, std::string_view before);
void write_gpus_json(const std::vector<Gpu>& gpus, const std::vector<Gpu>& here, std::ostream& out);

}  // namespace ulpscope::reports
