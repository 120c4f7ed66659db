// The kernels of a run one after another, with what a picture or a sum of very many needs, and all that is on record of one of them.
//
// A million KernelRecords take 300 MB; here nothing is kept. Every page is a short read of its own, so that a writer is not held up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// A kernel without its launch. Units as in KernelRecord.
struct KernelSpan {
  std::int64_t row = 0;  ///< of the table: finds the whole record again
  std::optional<std::int64_t> step{};
  std::optional<NodeId> node{};
  std::int64_t stream = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  Number tensor_pipe{};
  std::string name{};
};

struct KernelScan {
  std::int64_t kernels = 0;  ///< visited
  bool more = false;         ///< there are others
};

/// Visits the kernels of a run by their start, also those of no known step: at most `most`. Throws what the reader throws.
KernelScan scan_kernels(const RunFileReader& reader, RunId run, std::int64_t most, const std::function<void(const KernelSpan&)>& visit);

/// The record of KernelSpan::row; none if it is not there (any more).
std::optional<KernelRecord> kernel_at(const RunFileReader& reader, RunId run, std::int64_t row);

}  // namespace ulpscope::reports
