// A matrix product that is launched again and again, and timed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/ops/params.h"
#include "profiler/sweep/swept_product.h"

namespace ulpscope::profiler {

/// A sample is to last so long: products that took less in the warm-up are done several times in a row, and the mean is theirs.
inline constexpr double least_sample_seconds = 1e-3;

class TimedProduct {
 public:
  std::int64_t calls = 1;            ///< of one sample
  std::string problem{};             ///< why it cannot be timed
  std::vector<double> seconds{}, device_seconds{};   ///< of one product, by sample; on a GPU also between events of the device

  explicit TimedProduct(const SweptProduct& product);
  TimedProduct(const TimedProduct&) = delete;
  TimedProduct& operator=(const TimedProduct&) = delete;

  /// Caches, page faults, the library's choice of an algorithm; and how many calls a sample needs. Seconds that a sample takes.
  double warm_up(Device& device);
  void sample(Device& device);

 private:
  friend class ProductRoom;
  Launch bound(Device& device);
  void run(Device& device);

  SweptProduct product_;
  Tensor in_[3], result_;
  MatmulParams params_;
  void* workspace_ = nullptr;
};

/// One set of operands, the greatest that is needed, serves all: numbers between 1 and 2 of either sign, not all alike, because what they
/// are moves a GPU's power, and with it its clock.
class ProductRoom {
 public:
  ProductRoom(Device& device, std::span<TimedProduct* const> products);
  /// Without the workspace.
  static std::int64_t bytes(std::span<TimedProduct* const> products);

 private:
  struct Bytes {
    std::int64_t a = 0, b = 0, result = 0, bias = 0;
  };
  static Bytes greatest(std::span<TimedProduct* const> products);

  Buffer a_, b_, result_, bias_, workspace_;
};

}  // namespace ulpscope::profiler
