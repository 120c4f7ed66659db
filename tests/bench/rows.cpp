#include "tests/bench/rows.h"

#include "kernels/error.h"

namespace ulpscope::bench {
namespace {

constexpr bool at_most = true, at_least = false;

}  // namespace

const std::vector<Row>& all_rows() {
  static const std::vector<Row> rows = {
      {"products/own", "own fp32 product / oneDNN sgemm, geometric mean of time over shapes", {at_most, 1.05, 1.00}},
      {"steps/products", "fp32 step / its matrix products called bare through oneDNN", {at_most, 1.25, 1.12}},
      {"steps/fp16", "fp16 step / fp32 step", {at_most, 1.10, 1.00}},
      {"steps/bf16", "bf16 step / fp32 step", {at_most, 1.10, 1.00}},
      {"steps/tf32", "tf32 step / fp32 step", {at_most, 1.10, 1.00}},
      {"steps/peak", "fp32 step's FLOP/s (6N + attention) / FMA peak", {at_least, 0.60, 0.80}},
      {"conversions/fp16_to_fp32", "fp16 to fp32, bytes moved per second / memcpy", {at_least, 0.85, 0.95}},
      {"conversions/fp32_to_fp16", "fp32 to fp16, bytes moved per second / memcpy", {at_least, 0.85, 0.95}},
      {"conversions/bf16_to_fp32", "bf16 to fp32, bytes moved per second / memcpy", {at_least, 0.85, 0.95}},
      {"conversions/fp32_to_bf16", "fp32 to bf16, bytes moved per second / memcpy", {at_least, 0.50, 0.60}},
      {"units/worst", "256³ product with a matrix unit's sums / plain product, fp16, bf16, tf32, the slowest of all generations",
       {at_most, 40.0, 20.0}},
      {"units/hopper fp16", "256³ fp16 product with Hopper's sums / plain product", {at_most, 40.0, 20.0}},
      {"recorder/step", "fp32 step with the recorder / without", {at_most, 1.02, 1.00}},
      {"nvtx/step", "fp32 step of the demo with NVTX ranges and no tool attached / without", {at_most, 1.01, 1.00}},
      {"observation/every step", "bf16 step with every tensor counted / without", {at_most, 1.5, 1.25}},
      {"observation/every 10th step", "bf16 step with every tensor of each 10th step counted / without", {at_most, 1.05, 1.02}},
      {"observation/ranges", "bf16 step with the ranges of the backward pass / without", {at_most, 1.10, 1.04}},
      {"observation/replay", "time of one replay of a bad fp16 step / the step", {at_most, 3.0, 1.5}},
      {"memory/fp32", "peak RSS of a run in fp32 / plan + empty program", {at_most, 1.05, 1.01}},
      {"memory/fp16", "peak RSS of a run in fp16 / plan + empty program", {at_most, 1.05, 1.01}},
      {"memory/bf16", "peak RSS of a run in bf16 / plan + empty program", {at_most, 1.05, 1.01}},
      {"memory/tf32", "peak RSS of a run in tf32 / plan + empty program", {at_most, 1.05, 1.01}},
      {"kept/fp16", "bytes kept for backward, fp16 / fp32", {at_most, 0.65, 0.56}},
      {"kept/bf16", "bytes kept for backward, bf16 / fp32", {at_most, 0.65, 0.56}},
      {"memory/bf16_to_fp32", "peak RSS of a run, bf16 / fp32", {at_most, 0.80, 0.73}},
  };
  return rows;
}

std::vector<Row> rows_like(const std::string& text) {
  std::vector<Row> rows;
  std::string names;
  for (const Row& row : all_rows()) {
    names += (names.empty() ? "" : ", ") + row.name;
    if (row.name.find(text) != std::string::npos) rows.push_back(row);
  }
  if (rows.empty()) throw UsageError("no row's name contains '" + text + "'. Rows: " + names);
  return rows;
}

}  // namespace ulpscope::bench
