// Who carries out a planned call: cuBLASLt (lt_product.cpp), or plain loops on the emulated grid (emulated_product.cpp).
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/lt_plan.h"
#include "kernels/cuda/product.h"

namespace ulpscope::cuda {

/// Bytes of workspace that a call is handed.
std::size_t library_workspace_bytes();

/// What a kernel that could do its work piece by piece takes of the workspace for it.
std::int64_t most_scratch_bytes();

/// On the stream. workspace: library_workspace_bytes, 256-byte aligned. Throws Error naming shapes and formats.
void run_call(const LtCall& call, const LtPointers& pointers, void* workspace, void* stream);

/// Whether the library has an algorithm for the call on this GPU, its matrices at the best alignment. Asked once for each call.
bool has_algorithm(const LtCall& call);
/// Of the plain loops alone, for tests: calls that their library has none for. Null: it has one for all.
extern bool (*emulated_library_lacks)(const LtCall& call);

/// What an algorithm may count on: loads are of 16 bytes at most (cuBLAS is at its best where pointers are multiples of that, NUMERICS 4), and the memory plan's places lie at multiples of 64, so that equal
/// layers get the same algorithm.
inline constexpr std::uint32_t best_alignment = 16;

/// What an algorithm is chosen for. Alignments in bytes, a power of two up to best_alignment.
struct LtKey {
  LtCall call;
  std::uint32_t a = best_alignment, b = best_alignment, d = best_alignment;
  auto operator<=>(const LtKey&) const = default;
};
/// Of a place in memory: the greatest power of two up to 256.
inline std::uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(256, address == 0 ? 256 : address & (~address + 1)));
}
inline LtKey key_of(const LtCall& call, const LtPointers& p) {
  const auto counted = [](const void* data) { return std::min(best_alignment, alignment_of(data)); };
  return {call, counted(p.a), counted(p.b), counted(p.d)};
}

/// The call's facts; the algorithm's are the caller's to fill in.
inline ProductChoice choice_of(const LtCall& call) {
  ProductChoice c;
  c.rows = call.d.columns;
  c.columns = call.d.rows;
  c.depth = call.depth();
  c.batch = call.batch;
  c.a = call.b.format;
  c.b = call.a.format;
  c.c = call.d.format;
  c.leading_a = call.b.leading;
  c.leading_b = call.a.leading;
  c.leading_c = call.d.leading;
  c.transposed_a = call.transpose_b;
  c.transposed_b = call.transpose_a;
  c.bias = call.bias;
  c.compute = name(call.compute);
  return c;
}

/// Algorithms, each chosen once and kept for the life of the process.
template <class Algorithm>
class Choices {
 public:
  /// choose(ProductChoice&) is asked for a key that is new; what it throws is thrown, and asked again the next time.
  template <class Choose>
  const Algorithm& of(const LtKey& key, Choose choose) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found != places_.end()) return algorithms_[found->second];
    ProductChoice choice = choice_of(key.call);
    algorithms_.push_back(choose(choice));   // a deque: those handed out stay where they are
    list_.push_back(choice);
    places_.emplace(key, algorithms_.size() - 1);
    return algorithms_.back();
  }
  std::vector<ProductChoice> list() const {
    const std::lock_guard lock(mutex_);
    return list_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<LtKey, std::size_t> places_;
  std::deque<Algorithm> algorithms_;
  std::vector<ProductChoice> list_;
};

}  // namespace ulpscope::cuda
