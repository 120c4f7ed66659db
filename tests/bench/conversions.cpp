// Bulk conversions in the first-level cache, against memcpy there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/formats/convert.h"
#include "tests/bench/family.h"

namespace ulpscope::bench {
namespace {

constexpr std::size_t numbers = 4096;  // 24 KiB with both sides; the first-level cache has 32 KiB or more
constexpr int slices = 5;
constexpr std::size_t moved = 6 * numbers;  // bytes read and written

struct Case {
  const char* name;
  Format narrow;
  bool widens;
};
constexpr std::array<Case, 4> cases = {{{"fp16_to_fp32", Format::fp16, true},
                                        {"fp32_to_fp16", Format::fp16, false},
                                        {"bf16_to_fp32", Format::bf16, true},
                                        {"fp32_to_bf16", Format::bf16, false}}};

/// Keeps the compiler from leaving out a call whose result nobody reads.
void touch(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

class ConversionFamily final : public Family {
 public:
  explicit ConversionFamily(const Setup& setup)
      : setup_(setup),
        wide_(*setup.device, numbers * 4),
        halves_(*setup.device, numbers * 2),
        target_(*setup.device, numbers * 4) {}

  void prepare() override {
    const double each = copy(100) / 100;
    calls_ = static_cast<int>(std::ceil((setup_.options.tiny ? 1e-5 : 5e-4) / std::max(each, 1e-9)));
    best_ = parse_instruction_set(setup_.device->description().instruction_set);
  }

  void round(int, Samples& samples) override {
    for (const Case& c : cases) {
      samples[fmt::format("conversions/{}", c.name)] = ratio(c, best_);
      for (const InstructionSet set : {InstructionSet::portable, InstructionSet::avx2})  // what other machines have
        if (set != best_ && available(set))
          samples[fmt::format("conversions/{} with {}", c.name, name(set))] = ratio(c, set);
    }
    samples["conversions/memcpy GB/s"] = static_cast<double>(moved) * calls_ / copy(calls_) * 1e-9;
  }

 private:
  double copy(int calls) {
    const auto* from = static_cast<const char*>(wide_.data());
    return seconds([&] {
      for (int i = 0; i < calls; ++i) {
        std::memcpy(target_.data(), from, moved / 2);
        touch(target_.data());
      }
    });
  }

  /// Bandwidth over memcpy's. Both in turn for a few slices, the best slice of each: see products.cpp.
  double ratio(const Case& c, InstructionSet set) {
    const Conversions& code = conversions(set);
    auto* wide = static_cast<float*>(wide_.data());
    for (std::size_t i = 0; i < numbers; ++i) wide[i] = static_cast<float>(i % 1000) * 0.01f - 3.0f;
    code.narrow(c.narrow, wide, halves_.data(), numbers);
    double best = std::numeric_limits<double>::infinity(), best_copy = best;
    for (int slice = 0; slice < slices; ++slice) {
      best_copy = std::min(best_copy, copy(calls_));
      best = std::min(best, seconds([&] {
                        for (int i = 0; i < calls_; ++i) {
                          if (c.widens)
                            code.widen(c.narrow, halves_.data(), static_cast<float*>(target_.data()), numbers);
                          else
                            code.narrow(c.narrow, wide, target_.data(), numbers);
                          touch(target_.data());
                        }
                      }));
    }
    return best_copy / best;
  }

  const Setup& setup_;
  Buffer wide_, halves_, target_;
  int calls_ = 1;
  InstructionSet best_ = InstructionSet::portable;
};

}  // namespace

std::unique_ptr<Family> make_conversions(const Setup& setup) { return std::make_unique<ConversionFamily>(setup); }

}  // namespace ulpscope::bench
