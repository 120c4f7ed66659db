// One thread at one head of attention: where its matrices lie, and its products and roundings. Used by attention.cpp
// alone.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/matmul.h"
#include "kernels/matmul_plan.h"
#include "kernels/error.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope::attention {


template <class T>
inline constexpr Format own_format = std::is_same_v<T, float> ? Format::fp32 : Format::fp64;

[[noreturn]] inline void refuse(const Launch& launch, const char* operation, const std::string& why) {
  std::string views;
  for (int i = 0; i < launch.in_count; ++i) views += (i ? ", " : "") + to_string(launch.in[i].shape);
  throw Error(std::string(operation) + ": " + why + " (inputs " + views + ")");
}

/// The matrix of one head, as multiply_block reads or writes it.
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t stride = 0;
};

/// What both directions share: sizes, formats, and the scratch memory of each thread.
template <class T>
struct Work {
  const AttentionParams* params = nullptr;
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  std::int64_t groups = 0;  ///< heads of k and v: each is shared by heads / groups neighbouring heads of q
  std::int64_t items = 0;   ///< what is shared out: heads forwards, groups backwards
  const std::int32_t* visible = nullptr;  ///< [batch, keys]: keys that are seen; null: all
  Format probs_format = Format::fp32;
  bool dropout = false;
  BlockSums sums = {};
  int threads = 1;
  std::size_t counts_bytes = 0, thread_bytes = 0;

  std::int64_t sharing() const { return heads / groups; }
  std::int64_t scores() const { return queries * keys; }
  /// Of the largest of the products (both directions).
  std::int64_t product_scratch(InstructionSet set) const {
    if (std::is_same_v<T, double>) return 0;
    const std::int64_t longest = std::max(queries, keys), widest = std::max(width, value_width);
    return std::max(multiply_scratch(set, queries, keys, widest, sums), multiply_scratch(set, longest, widest, longest, sums));
  }
  std::size_t bytes() const { return counts_bytes + thread_bytes * static_cast<std::size_t>(threads); }
};

/// Hands out pieces of a thread's scratch memory; with a null base it only adds up.
template <class T>
struct Scratch {
  unsigned char* base = nullptr;
  std::size_t used = 0;
  T* take(std::int64_t elements) {
    T* at = base == nullptr ? nullptr : reinterpret_cast<T*>(base + used);
    used += aligned_bytes(static_cast<std::size_t>(elements) * sizeof(T));
    return at;
  }
};

template <class T>
bool plain_lines(const Tensor& t) {
  const bool own = t.format == own_format<T> || (std::is_same_v<T, float> && t.format == Format::tf32);
  return own && (t.shape[3] == 1 || t.stride[3] == 1) && (t.shape[2] == 1 || t.stride[2] >= t.shape[3]);
}
template <class T>
bool readable(const Tensor& t, Format multiply) {
  return plain_lines<T>(t) && (std::is_same_v<T, double> || !needs_rounding(t.format, multiply));
}

inline void* line_of(const Tensor& t, std::int64_t b, std::int64_t h, std::int64_t row) {
  return static_cast<unsigned char*>(t.data) +
         (b * t.stride[0] + h * t.stride[1] + row * t.stride[2]) * storage_bytes(t.format);
}
inline std::int64_t inner_stride(const Tensor& t) { return t.shape[3] == 1 ? 1 : t.stride[3]; }

/// One thread at one head.
template <class T>
struct Head {
  const Work<T>& work;
  const ProductLines<T>& lines;
  const AttentionRows<T>& rows;
  InstructionSet set;
  std::int64_t b = 0, h = 0;
  RoundingTally* const* tally = nullptr;  ///< one for each output, null where nobody looks
  T* product_scratch = nullptr;

  std::int64_t item() const { return b * work.heads + h; }
  /// Row `row` of this head, or of the group it belongs to.
  void* line(const Tensor& t, std::int64_t row) const { return line_of(t, b, h * t.shape[1] / work.heads, row); }

  /// An operand of a product: in place, or widened and rounded into `copy`.
  Matrix<const T> operand(const Tensor& t, T* copy) const {
    const std::int64_t n = t.shape[2];
    const std::int64_t width = t.shape[3];
    if (readable<T>(t, work.params->multiply)) {
      return {static_cast<const T*>(line(t, 0)), n == 1 ? width : t.stride[2]};
    }
    load(t, copy, work.params->multiply);
    return {copy, width};
  }
  void load(const Tensor& t, T* copy, Format multiply) const {
    const std::int64_t width = t.shape[3];
    for (std::int64_t i = 0; i < t.shape[2]; ++i) {
      lines.load(t.format, line(t, i), inner_stride(t), copy + i * width, width, multiply);
    }
  }

  void product(bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> x,
               Matrix<const T> y, Matrix<T> z, std::int64_t wanted = all_columns) const {
    multiply_block(set, trans_a, trans_b, m, n, k, x.data, x.stride, y.data, y.stride, z.data, z.stride,
                   product_scratch, wanted, work.sums);
  }

  /// z = op(x) y, rounded once into output `index`.
  void product_into(bool trans_a, std::int64_t k, Matrix<const T> x, Matrix<const T> y, const Tensor& out, int index,
                    T* sums) const {
    const std::int64_t m = out.shape[2];
    const std::int64_t n = out.shape[3];
    const bool in_place = out.format == own_format<T> && plain_lines<T>(out);
    const Matrix<T> z =
        in_place ? Matrix<T>{static_cast<T*>(line(out, 0)), m == 1 ? n : out.stride[2]} : Matrix<T>{sums, n};
    product(trans_a, false, m, n, k, x, y, z);
    if (!in_place || tally[index] != nullptr) store(z, out, index);
  }
  void store(Matrix<T> from, const Tensor& out, int index) const {
    for (std::int64_t i = 0; i < out.shape[2]; ++i) {
      lines.finish(from.data + i * from.stride, 1, 0, nullptr, out.format, line(out, i), inner_stride(out),
                   out.shape[3], tally[index]);
    }
  }

  /// Probabilities as they are stored become the operand of a product: through dropout, stored again, seen by the
  /// multiplier.
  void make_operand(T* probs, const T* factor) const {
    const std::int64_t n = work.scores();
    if (work.dropout) {
      rows.multiply(probs, factor, n);
      if (work.probs_format != own_format<T>) rows.round(probs, n, work.probs_format);
    }
    round_for_multiplier(probs, work.probs_format);
  }
  void round_for_multiplier(T* x, Format format) const {
    const Format multiply = work.params->multiply;
    if (std::is_same_v<T, float> && needs_rounding(format, multiply)) rows.round(x, work.scores(), multiply);
  }
};

}  // namespace ulpscope::attention
