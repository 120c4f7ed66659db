// Products as other kernels of this folder use them, and what they have in common. Host code; T is the compute type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/observation.h"
#include "kernels/cuda/view.h"
#include "kernels/ops/params.h"

namespace ulpscope::cuda {

template <class T>
inline constexpr Format own_format = std::is_same_v<T, float> ? Format::fp32 : Format::fp64;

/// c = a b (+ bias) as the operation matmul says.
struct Product {
  Tensor a, b, c;
  MatmulParams params;
  const Tensor* bias = nullptr;
};

/// Bytes of workspace for either, with or without `before`.
template <class T>
std::size_t multiply_bytes(const Product& product);
/// before: null, or where the sums go as they are before c's rounding: dense, in c's order. They come from the same product where
/// that passes through memory; else from a second one, with a result in T: recomputed.
template <class T>
void multiply(const Product& product, void* before, void* workspace, void* stream);

/// The elements of one tensor in another of the same shape, rounded once.
template <class T>
void copy_tensor(const Tensor& from, const Tensor& to, void* stream);

/// Rounds sums [elements] into a result in the same order. bias: null, or added first: bias[i / inner % columns].
template <class T>
void finish(const T* sums, const T* bias, std::int64_t inner, std::int64_t columns, const Result& result, void* stream);

/// Memory `elements` elements further on; null stays null.
inline void* advanced(void* data, Format format, std::int64_t elements) {
  return data == nullptr ? nullptr : static_cast<unsigned char*>(data) + elements * storage_bytes(format);
}
/// The elements from number `first` on of an observed result, seen as this view.
template <class T>
Result part_of(const Result& whole, std::int64_t first, const Tensor& part) {
  Result r;
  r.view = DeviceView(view_of(part));
  r.before = advanced(whole.before, own_format<T>, first);
  return r;
}

/// Hands out a launch's workspace; without memory it only adds up.
class Rooms {
 public:
  explicit Rooms(void* workspace) : base_(static_cast<unsigned char*>(workspace)) {}
  void* take(std::size_t bytes) {
    void* at = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (bytes + 63) / 64 * 64;
    return at;
  }
  void* take(std::int64_t elements, Format format) {
    return take(static_cast<std::size_t>(std::max<std::int64_t>(elements, 0) * storage_bytes(format)));
  }
  std::size_t used() const { return used_; }

 private:
  unsigned char* base_;
  std::size_t used_ = 0;
};

void register_convolutions(KernelTable& table);
void register_attention(KernelTable& table);

#define ULPSCOPE_EXTERN(T)                                                                                       \
  extern template std::size_t multiply_bytes<T>(const Product&);                                                 \
  extern template void multiply<T>(const Product&, void*, void*, void*);                                         \
  extern template void copy_tensor<T>(const Tensor&, const Tensor&, void*);                                      \
  extern template void finish<T>(const T*, const T*, std::int64_t, std::int64_t, const Result&, void*);
ULPSCOPE_EXTERN(float)
ULPSCOPE_EXTERN(double)
#undef ULPSCOPE_EXTERN

}  // namespace ulpscope::cuda
