// A device asked how its matrix unit adds up: vectors that tell the generations apart, through the unit's own instruction (mma), beside
// what is emulated for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/device.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope::tensor_core {

/// a[k] * b[k]; elements that are not listed are zeros.
struct QuestionFactor {
  int k;
  float a, b;
};

struct UnitQuestion {
  const char* name;    ///< "T1"
  Format operands;     ///< factors are numbers of it; in tf32 they need not be: the unit gets all their bits
  bool fp16_sums;
  std::vector<QuestionFactor> factors;
  float c;
  const char* tells;   ///< "fraction bits: 23, or more"
  bool open = false;   ///< no captured data answer it, of any generation: it is asked to know, and another answer is no fault
};
/// Those of every format.
std::span<const UnitQuestion> unit_questions();

struct UnitAnswer {
  const UnitQuestion* question = nullptr;
  const Unit* unit = nullptr;    ///< what is emulated; null: nothing, for this generation
  std::uint32_t device = 0;      ///< bits as fp32, NaN as canonical_nan
  std::uint32_t emulated = 0;
  bool alike = false;            ///< all sums of the tile had the same bits
  bool same() const { return unit != nullptr && alike && device == emulated; }
};

/// The generation of GPUs of a compute capability: 90 is 9.0. none: older than 7.0.
MatrixUnit generation_of(int capability);
/// The row for mma and these operands: with fp8 generations differ in how they carry it out. Null: there is none.
const Unit* unit_of_mma(int capability, Format operands, bool fp16_sums);

/// Every question that this device has an instruction for. capability: its own. Throws UsageError where it has none at all.
std::vector<UnitAnswer> ask_unit(Device& device, int capability);

/// One of the factors of a product in each block is zero, beside a large one: whether such a product moves the alignment. Nothing if
/// neither rule gives the answer, or if it was not asked.
std::optional<ZeroProducts> zero_products(std::span<const UnitAnswer> answers);

}  // namespace ulpscope::tensor_core
