// Files of vectors for the matrix-unit arithmetic: what a device was given and what it answered, a line each.
//
//   # comment
//   generation,format,result,instruction,a,b,c,expected
//   hopper,fp16,fp32,,3c00 3c00,0c00 0c00,3f800000,3f800001
//
// The first line that is neither empty nor a comment names the columns, in any order; a, b and expected are needed, what else is
// missing is taken from the defaults. Numbers are bit patterns in hexadecimal: a and b as many as K, separated by blanks, in the
// operands' format (fp16, bf16 four digits; fp8 two; tf32 eight, an fp32 word), c and expected in that of the result (fp32 and e8m13
// eight digits, fp16 four).
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "kernels/tensor_core/units.h"

namespace ulpscope::profiler {

/// What holds for the lines that do not say it themselves.
struct UnitDefaults {
  std::string generation;
  std::string format;
  std::string result = "fp32";
  std::string instruction;
  std::string zeros = "excluded";   ///< zero products: excluded, included
  std::int64_t promote = 0;         ///< elements of K between additions in fp32; 0: none
};

struct UnitVector {
  std::int64_t line = 0;
  const tensor_core::Unit* unit = nullptr;
  tensor_core::SumRule rule;
  std::vector<float> a, b;
  float c = 0.0f;
  std::uint32_t expected = 0;
};

/// The row of the table that is meant. Throws UsageError "<where>: …" listing what there is.
const tensor_core::Unit& unit_of(const UnitDefaults& wanted, const std::string& where);

/// Calls take(vector) for every line. Throws UsageError "<name>:<line>: …" for the first one that cannot be read.
void read_unit_vectors(std::istream& in, const std::string& name, const UnitDefaults& defaults,
                       const std::function<void(const UnitVector&)>& take);

/// Bits of a result: of fp16 four digits, else eight. NaN are canonical.
std::uint32_t result_bits(tensor_core::Result result, float x);

}  // namespace ulpscope::profiler
