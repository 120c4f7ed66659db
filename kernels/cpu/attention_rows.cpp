#include "kernels/cpu/attention_rows.h"

#include "kernels/formats/tile.h"
#include "kernels/ops/softmax.h"
#include "kernels/ops/team.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

// Masked scores are -inf, whose share of the softmax is exactly 0, and zeros at the end of a row change no bit of a sum
// along the tree. So the visible keys alone give what the whole row would.
template <class T>
void softmax(T* scores, std::int64_t queries, std::int64_t keys, T scale, bool causal, const std::int32_t* seen, T* row) {
  const T hidden = static_cast<T>(-__builtin_huge_val());
  for (std::int64_t query = 0; query < queries; ++query) {
    T* line = scores + query * keys;
    const std::int64_t last = query + keys - queries;
    const std::int64_t visible = !causal || last >= keys ? keys : last < 0 ? 0 : last + 1;
    for (std::int64_t i = 0; i < visible; ++i) row[i] = line[i] * scale;
    for (std::int64_t i = 0; seen != nullptr && i < visible; ++i) row[i] = seen[i] != 0 ? row[i] : hidden;
    softmax_row<T>(SerialTeam{}, static_cast<const T*>(row), line, visible);
    const T rest = visible == 0 ? static_cast<T>(__builtin_nan("")) : T(0);
    for (std::int64_t i = visible; i < keys; ++i) line[i] = rest;
  }
}

template <class T>
void softmax_backward(const T* probs, T* dprobs, std::int64_t queries, std::int64_t keys, T scale) {
  for (std::int64_t query = 0; query < queries; ++query) {
    T* line = dprobs + query * keys;
    softmax_backward_row<T>(SerialTeam{}, probs + query * keys, static_cast<const T*>(line), line, keys);
    for (std::int64_t i = 0; i < keys; ++i) line[i] *= scale;
  }
}

// The generator gives four elements at a time, from a multiple of four.
template <class T>
void factors(const DropoutStream<T>& stream, std::int64_t first, T* factor, std::int64_t n) {
  constexpr int blocks = 64;
  T buffer[4 * blocks];
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t skip = (first + done) % 4;
    dropout_factors(stream, (first + done) / 4, blocks, buffer);
    const std::int64_t length = n - done < 4 * blocks - skip ? n - done : 4 * blocks - skip;
    for (std::int64_t i = 0; i < length; ++i) factor[done + i] = buffer[skip + i];
    done += length;
  }
}

template <class T>
void multiply(T* x, const T* factor, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor[i];
}

template <class T>
void round(T* x, std::int64_t n, Format format) {
  alignas(64) unsigned char narrow[tile_elements * sizeof(double)];
  constexpr auto most = static_cast<std::int64_t>(tile_elements);
  for (std::int64_t start = 0; start < n; start += most) {
    const auto length = static_cast<std::size_t>(n - start < most ? n - start : most);
    narrow_tile(format, static_cast<const T*>(x + start), static_cast<void*>(narrow), length);
    widen_tile(format, static_cast<const void*>(narrow), x + start, length);
  }
}

constexpr AttentionRows<float> float_rows{softmax<float>, softmax_backward<float>, factors<float>, multiply<float>,
                                          round<float>};
constexpr AttentionRows<double> double_rows{softmax<double>, softmax_backward<double>, factors<double>,
                                            multiply<double>, round<double>};

}  // namespace

template <>
const AttentionRows<float>& attention_rows<float>() {
  return float_rows;
}
template <>
const AttentionRows<double>& attention_rows<double>() {
  return double_rows;
}

}  // namespace ulpscope::ULPSCOPE_ISA
