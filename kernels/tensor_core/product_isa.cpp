// The product with a unit's sums, compiled once per instruction set.
//
// A product of two operands is exact in fp32 as long as its exponent is moderate, and always in fp64. Multiplied by
// 2^(fraction - E) and converted to an integer with truncation, it is what the unit adds. Sixteen such integers fit into 32 bits: a
// significand product is below 4 - 2^-8, and 16 (4 - 2^-8) 2^25 < 2^31. A block's sum is exact in fp64, where the last rounding
// is made. Lanes with an infinity or a NaN, or with a result below fp32's normal range, are left to the reference.
#include "kernels/tensor_core/product_pack.h"
#include "kernels/tensor_core/reference.h"

namespace ulpscope::tensor_core::ULPSCOPE_ISA {
namespace {

constexpr int most_addends = 16;       ///< of one 32-bit sum
constexpr std::int32_t moderate = 100; ///< exponents of products that are exact in fp32, and so is their scaling
constexpr std::int32_t least_scaled = -400;

struct Chain {
  int width, fraction;
  std::int32_t floor, least_c, zero_c;
};

ULPSCOPE_BODY Chain chain_of(const SumRule& rule) {
  return {rule.width, rule.fraction, rule.exponent_floor > least_scaled ? rule.exponent_floor : least_scaled,
          rule.result == Result::fp16 ? -14 : -126, rule.zeros == ZeroProducts::included ? -126 : zero_exponent};
}

ULPSCOPE_BODY Ints exponent_of(const Floats& c, const Chain& chain) {
  const Ints bits = as<Ints>(c) & 0x7fffffff;
  const Ints biased = bits >> 23;
  const Ints plain = greater(biased - 127, ints(chain.least_c));
  const Ints finite = biased == 255 ? ints(special_exponent) : plain;
  return bits == 0 ? ints(chain.zero_c) : finite;
}

/// The lanes that the reference has to do again.
struct GivenUp {
  Ints special{};
  Longs tiny[2]{};
};

template <Result result>
ULPSCOPE_BODY HalfFloats round_sum(const Doubles& v, Longs& tiny) {
  if constexpr (result == Result::fp16) {
    // Adding 1.5 * 2^52 last places rounds to a whole number of them.
    const Longs exponent = greater((as<Longs>(v) >> 52) & 0x7ff, longs(1023 - 14));
    const Doubles magic = as<Doubles>(((exponent + 42) << 52) | (std::int64_t{1} << 51));
    const Doubles rounded = (v + magic) - magic;
    const Doubles magnitude = as<Doubles>(as<Longs>(rounded) & 0x7fffffffffffffff);
    const Longs sign = as<Longs>(rounded) & static_cast<std::int64_t>(0x8000000000000000u);
    const Longs infinite = sign | 0x7ff0000000000000;
    const Longs bounded = magnitude >= doubles(65536.0) ? infinite : as<Longs>(rounded);
    return __builtin_convertvector(as<Doubles>(bounded), HalfFloats);
  } else {
    constexpr int dropped = result == Result::fp32 ? 29 : 39;  // of 52 fraction bits
    const Longs bits = as<Longs>(v);
    const Doubles magnitude = as<Doubles>(bits & 0x7fffffffffffffff);
    tiny |= (magnitude < doubles(0x1p-126)) & (magnitude != doubles(0.0));
    return __builtin_convertvector(as<Doubles>(bits & -(std::int64_t{1} << dropped)), HalfFloats);
  }
}

/// c plus the sums of a block, which are in units of 2^(e - fraction).
template <Result result>
ULPSCOPE_BODY Floats finish(const Chain& chain, const Floats& c, const Ints& e, const Words* sums, GivenUp& given_up) {
  Floats next;
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    const auto half = [h](const auto& v) { return reinterpret_cast<const unsigned char*>(&v) + h * sizeof(HalfInts); };
    const Longs exponent = __builtin_convertvector(load<HalfInts>(half(e)), Longs);
    const Doubles scale = as<Doubles>((1023 + chain.fraction - exponent) << 52);
    const Doubles unit = as<Doubles>((1023 - chain.fraction + exponent) << 52);
    const Doubles old = __builtin_convertvector(load<HalfFloats>(half(c)), Doubles) * scale;
    Doubles sum = __builtin_convertvector(__builtin_convertvector(old, HalfInts), Doubles) +
                  __builtin_convertvector(load<HalfInts>(half(sums[0])), Doubles);
    if (chain.width > most_addends) sum += __builtin_convertvector(load<HalfInts>(half(sums[1])), Doubles);
    const HalfFloats rounded = round_sum<result>(sum * unit, given_up.tiny[h]);
    store(reinterpret_cast<unsigned char*>(&next) + h * sizeof rounded, rounded);
  }
  return next;
}

/// Products of a and a vector of B, truncated to integers.
struct Single {  ///< products with moderate exponents
  Floats scale;
  ULPSCOPE_MEMBER void prepare(const Chain& chain, const Ints& e) {
    const Ints bounded = greater(e, ints(-moderate));
    scale = as<Floats>(as<Words>(ints(127 + chain.fraction) - bounded) << 23);
  }
  ULPSCOPE_MEMBER void add(Words& sum, float a, const Floats& b) const {
    sum += as<Words>(__builtin_convertvector((b * a) * scale, Ints));
  }
};
struct Wide {
  Doubles scale[2];
  ULPSCOPE_MEMBER void prepare(const Chain& chain, const Ints& e) {
    for (int h = 0; h < 2; ++h) {
      const auto* from = reinterpret_cast<const unsigned char*>(&e) + h * sizeof(HalfInts);
      const Longs exponent = __builtin_convertvector(load<HalfInts>(from), Longs);
      scale[h] = as<Doubles>((1023 + chain.fraction - exponent) << 52);
    }
  }
  ULPSCOPE_MEMBER void add(Words& sum, float a, const Floats& b) const {
    Words truncated;
    for (int h = 0; h < 2; ++h) {
      const auto* from = reinterpret_cast<const unsigned char*>(&b) + h * sizeof(HalfFloats);
      const Doubles product = __builtin_convertvector(load<HalfFloats>(from), Doubles) * static_cast<double>(a);
      const HalfInts whole = __builtin_convertvector(product * scale[h], HalfInts);
      store(reinterpret_cast<unsigned char*>(&truncated) + h * sizeof whole, whole);
    }
    sum += truncated;
  }
};

struct Line {
  const float* value;
  const std::int32_t* exponent;
};

/// Rows of A, `apart` from each other, times one panel of B: each row's c is chained over `depth` elements.
template <class Products, Result result, int rows>
ULPSCOPE_BODY void chained(const Chain& chain, const Line& a, std::int64_t apart, const Line& b, std::int64_t depth, Floats* c,
                           GivenUp* given_up) {
  for (std::int64_t k = 0; k < depth; k += chain.width) {
    Ints e[rows];
    for (int r = 0; r < rows; ++r) e[r] = ints(2 * zero_exponent);
    for (int i = 0; i < chain.width; ++i) {
      const Ints of_b = load<Ints>(b.exponent + (k + i) * lanes);
      for (int r = 0; r < rows; ++r) e[r] = greater(e[r], of_b + a.exponent[r * apart + k + i]);
    }
    Products products[rows];
    Words sums[rows][2]{};
    for (int r = 0; r < rows; ++r) {
      e[r] = greater(e[r], exponent_of(c[r], chain));
      given_up[r].special |= e[r] > special_from;
      e[r] = greater(e[r], ints(chain.floor));
      products[r].prepare(chain, e[r]);
    }
    const int first = chain.width < most_addends ? chain.width : most_addends;
    for (int i = 0; i < first; ++i) {
      const Floats of_b = load<Floats>(b.value + (k + i) * lanes);
      for (int r = 0; r < rows; ++r) products[r].add(sums[r][0], a.value[r * apart + k + i], of_b);
    }
    for (int i = first; i < chain.width; ++i) {
      const Floats of_b = load<Floats>(b.value + (k + i) * lanes);
      for (int r = 0; r < rows; ++r) products[r].add(sums[r][1], a.value[r * apart + k + i], of_b);
    }
    for (int r = 0; r < rows; ++r) c[r] = finish<result>(chain, c[r], e[r], sums[r], given_up[r]);
  }
}

/// The lanes given up, done again from where the chain began.
__attribute__((noinline)) void repair(const SumRule& rule, const GivenUp& given_up, const Line& a, const Line& b,
                                      std::int64_t depth, const float* start, float* c) {
  for (int i = 0; i < lanes; ++i) {
    if (given_up.special[i] == 0 && given_up.tiny[i / half_lanes][i % half_lanes] == 0) continue;
    c[i] = reference_chain(rule, a.value, 1, b.value + i, lanes, depth, start[i]);
  }
}

/// running + sum in every lane, to nearest: what follows a restart.
template <Result result>
ULPSCOPE_BODY void add_lanes(float* running, const float* sum) {
  const Floats old = load<Floats>(running), more = load<Floats>(sum);
  Floats total;
  if constexpr (result == Result::fp16) {
    for (int h = 0; h < 2; ++h) {
      const auto half = [h](const float* x) { return __builtin_convertvector(load<HalfFloats>(x + h * half_lanes), Doubles); };
      Longs unused{};
      const HalfFloats rounded = round_sum<result>(half(running) + half(sum), unused);
      store(reinterpret_cast<float*>(&total) + h * half_lanes, rounded);
    }
  } else {
    total = old + more;
  }
  const Ints finite = ((as<Ints>(old) & 0x7f800000) != 0x7f800000) & ((as<Ints>(more) & 0x7f800000) != 0x7f800000);
  if (any(~finite)) {
    for (int i = 0; i < lanes; ++i) running[i] = add_nearest(result, running[i], sum[i]);
  } else {
    store(running, total);
  }
}

/// c[rows][lanes] = (c +) rows of A, a.depth apart, times one panel of B.
template <class Products, Result result, int rows>
void rows_times_panel(const SumRule& rule, const Line& a, const Line& b, std::int64_t depth, float* c) {
  const Chain chain = chain_of(rule);
  const std::int64_t segment = rule.restart != 0 ? rule.restart : depth;
  for (std::int64_t k = 0; k < depth; k += segment) {
    const std::int64_t length = depth - k < segment ? depth - k : segment;
    const Line left{a.value + k, a.exponent + k}, right{b.value + k * lanes, b.exponent + k * lanes};
    Floats start[rows], sums[rows];
    GivenUp given_up[rows];
    for (int r = 0; r < rows; ++r) start[r] = sums[r] = rule.restart != 0 ? Floats{} : load<Floats>(c + r * lanes);
    chained<Products, result, rows>(chain, left, depth, right, length, sums, given_up);
    for (int r = 0; r < rows; ++r) {
      alignas(64) float sum[lanes], from[lanes];
      store(sum, sums[r]);
      if (any(given_up[r].special) || any(given_up[r].tiny[0]) || any(given_up[r].tiny[1])) {
        store(from, start[r]);
        repair(rule, given_up[r], {left.value + r * depth, left.exponent + r * depth}, right, length, from, sum);
      }
      if (rule.restart != 0) {
        add_lanes<result>(c + r * lanes, sum);
      } else {
        std::memcpy(c + r * lanes, sum, sizeof sum);
      }
    }
  }
}

constexpr int most_rows = 4;  ///< chained side by side: one chain alone waits for its own sums
using RowsFunction = void (*)(const SumRule&, const Line&, const Line&, std::int64_t, float*);
struct RowsFunctions {
  RowsFunction one, most;
};

template <class Products>
RowsFunctions rows_functions(Result result) {
  switch (result) {
    case Result::fp16:
      return {rows_times_panel<Products, Result::fp16, 1>, rows_times_panel<Products, Result::fp16, most_rows>};
    case Result::e8m13:
      return {rows_times_panel<Products, Result::e8m13, 1>, rows_times_panel<Products, Result::e8m13, most_rows>};
    case Result::fp32:
      break;
  }
  return {rows_times_panel<Products, Result::fp32, 1>, rows_times_panel<Products, Result::fp32, most_rows>};
}

/// Rows [row, row + m) times the columns of a packed piece of B, n of them, chained onto C.
void multiply_piece(const Product& p, std::int64_t row, std::int64_t m, std::int64_t column, std::int64_t n, const Packed& a,
                    const Packed& b, bool first, const RowsFunctions& functions) {
  for (std::int64_t j = 0; j < n; j += lanes) {
    const auto wide = static_cast<std::size_t>(n - j < lanes ? n - j : lanes) * sizeof(float);
    const std::int64_t at = j / lanes * b.depth * lanes;
    for (std::int64_t r = 0; r < m;) {
      const std::int64_t rows = m - r < most_rows ? 1 : most_rows;
      float* to = p.c + (row + r) * p.c_stride + column + j;
      alignas(64) float c[most_rows * lanes] = {};
      if (!first || p.start == Start::c)
        for (std::int64_t i = 0; i < rows; ++i) std::memcpy(c + i * lanes, to + i * p.c_stride, wide);
      const RowsFunction function = rows == 1 ? functions.one : functions.most;
      function(*p.rule, {a.value + r * a.depth, a.exponent + r * a.depth}, {b.value + at, b.exponent + at}, a.depth, c);
      for (std::int64_t i = 0; i < rows; ++i) std::memcpy(to + i * p.c_stride, c + i * lanes, wide);
      r += rows;
    }
  }
}

ULPSCOPE_BODY std::int64_t piece_depth(const SumRule& rule) {
  const std::int64_t unit = rule.restart != 0 ? rule.restart : period(rule);
  return deepest_piece / unit * unit;
}

void multiply(const Product& p) {
  const std::int64_t step = period(*p.rule), deepest = piece_depth(*p.rule);
  for (std::int64_t column = 0; column < p.n; column += widest_piece) {
    const std::int64_t n = p.n - column < widest_piece ? p.n - column : widest_piece;
    for (std::int64_t k = 0; k < p.k; k += deepest) {
      const std::int64_t length = p.k - k < deepest ? p.k - k : deepest;
      const std::int64_t depth = (length + step - 1) / step * step, panels = (n + lanes - 1) / lanes;
      float* memory = p.scratch;
      float* line = memory;
      memory += deepest_piece + widest_piece;
      const Packed b{memory, reinterpret_cast<std::int32_t*>(memory + panels * depth * lanes), depth};
      memory += 2 * panels * depth * lanes;
      const Packed a{memory, reinterpret_cast<std::int32_t*>(memory + rows_together * depth), depth};
      ExponentRange of_b;
      pack_panels(*p.rule, p.b, column, n, k, length, b, line, of_b);
      for (std::int64_t row = 0; row < p.m; row += rows_together) {
        const std::int64_t m = p.m - row < rows_together ? p.m - row : rows_together;
        ExponentRange of_a;
        pack_rows(*p.rule, p.a, p.row + row, m, k, length, a, line, of_a);
        const bool exact = of_a.least + of_b.least >= -moderate && of_a.greatest + of_b.greatest <= moderate;
        multiply_piece(p, row, m, column, n, a, b, k == 0,
                       exact ? rows_functions<Single>(p.rule->result) : rows_functions<Wide>(p.rule->result));
      }
    }
  }
}

constexpr ProductFunctions functions{lanes, multiply};

}  // namespace

const ProductFunctions& product_functions() { return functions; }

}  // namespace ulpscope::tensor_core::ULPSCOPE_ISA
