#include <cmath>

#include "engine/optim/optimizer_config.h"
#include "kernels/formats/storage.h"

namespace ulpscope::engine {
namespace {

template <Format F>
double in_format(double x, ScalarRounding rounding) {
  auto stored = Storage<F>::round(x);
  const auto widened = [&] { return static_cast<double>(Storage<F>::widen(stored)); };
  // Rounded away from 0: the magnitude before is one unit in the last place smaller.
  if (rounding == ScalarRounding::truncate && std::fabs(widened()) > std::fabs(x)) --stored;
  return widened();
}

}  // namespace

double in_scalar_format(double x, Format format, ScalarRounding rounding) {
  switch (format) {
    case Format::fp16: return in_format<Format::fp16>(x, rounding);
    case Format::bf16: return in_format<Format::bf16>(x, rounding);
    default: return x;
  }
}

}  // namespace ulpscope::engine
