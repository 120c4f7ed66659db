// Words, and tables of them, that several forms show alike: the modes on a device, machines side by side, sums of matrix units.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/report.h"

namespace ulpscope::reports {

struct WordTable {
  std::string title{};
  std::vector<std::string> head{};
  std::size_t numbers_from = 1000;  ///< columns from this one on are numbers
  std::vector<std::vector<std::string>> rows{};
  std::vector<std::string> notes{};  ///< below it
};

/// The second best and by how much, with the range of it: "fp16: its step takes 1.32 x (1.10…1.58) as long as that of bf16 [projected]", and
/// what speaks against it or for it. That none is possible, where there is a winner and nothing else; "" without a winner.
std::string runner_up_words(const DeviceAdvice& a);
/// How each mode fares on the device of an answer.
WordTable advice_table(const VerdictAnswer& answer);
/// The words that a person types elsewhere: Hugging Face, PyTorch, DeepSpeed. Empty rows: there are none.
WordTable settings_table(const VerdictAnswer& answer);
/// Who is compared, a table for each mode, and the losses bit for bit. None: the runs are of one device.
std::vector<WordTable> machine_tables(const Comparison& comparison, std::size_t nodes);
/// What the emulated sums of matrix units change. No rows: none were emulated.
WordTable sums_table(const std::vector<SumsChange>& changes);

}  // namespace ulpscope::reports
