// The calls of cuBLASLt.
#include "kernels/cuda/lt_product.h"

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "kernels/error.h"
#include "kernels/out_of_memory.h"

namespace ulpscope::cuda {
namespace {

/// NVIDIA's advice for Hopper; other generations are content with less.
constexpr std::size_t workspace_cap = std::size_t{32} << 20;

void expect(cublasStatus_t status, const std::string& what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string words = "cuBLASLt: " + what + ": " + cublasLtGetStatusString(status) + " (" + cublasLtGetStatusName(status) + ")";
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfMemory(words);
  throw Error(words);
}

cudaDataType_t type_of(Format format) {
  switch (format) {
    case Format::fp32:
      return CUDA_R_32F;
    case Format::fp16:
      return CUDA_R_16F;
    case Format::bf16:
      return CUDA_R_16BF;
    case Format::fp64:
      return CUDA_R_64F;
    default:
      throw Error(std::string("cuBLASLt: a plan in ") + name(format));
  }
}

cublasComputeType_t type_of(LtCompute compute) {
  switch (compute) {
    case LtCompute::fp32_pedantic:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
    case LtCompute::fast_tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case LtCompute::fp32:
      return CUBLAS_COMPUTE_32F;
    case LtCompute::fp64:
      return CUBLAS_COMPUTE_64F;
  }
  return CUBLAS_COMPUTE_32F_PEDANTIC;
}

/// Which units may compute it: never sums in fp16, and where fp32 is asked for no operand that is narrower.
std::uint64_t allowed_numerics(LtCompute compute) {
  std::uint64_t mask = ~std::uint64_t{0} & ~CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F;
  if (compute == LtCompute::fp32_pedantic)
    mask &= ~(CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
  return mask;
}

/// Handles of the library, each destroyed by its own function.
template <class Pointer, cublasStatus_t (*destroy)(Pointer)>
struct Destroyer {
  using pointer = Pointer;
  void operator()(Pointer p) const { destroy(p); }
};
using Description = std::unique_ptr<void, Destroyer<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<void, Destroyer<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>>;
using Preference = std::unique_ptr<void, Destroyer<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>;

template <class Value>
void set(const Description& d, cublasLtMatmulDescAttributes_t attribute, Value value) {
  expect(cublasLtMatmulDescSetAttribute(d.get(), attribute, &value, sizeof value), "a product could not be described");
}
template <class Value>
void set(const Layout& l, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
  expect(cublasLtMatrixLayoutSetAttribute(l.get(), attribute, &value, sizeof value), "a matrix could not be described");
}
template <class Value>
void set(const Preference& p, cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
  expect(cublasLtMatmulPreferenceSetAttribute(p.get(), attribute, &value, sizeof value), "a preference could not be set");
}

Description describe(const LtCall& call) {
  cublasLtMatmulDesc_t raw = nullptr;
  const cudaDataType_t scale = call.compute == LtCompute::fp64 ? CUDA_R_64F : CUDA_R_32F;
  expect(cublasLtMatmulDescCreate(&raw, type_of(call.compute), scale), "a product could not be described");
  Description d(raw);
  set<std::int32_t>(d, CUBLASLT_MATMUL_DESC_TRANSA, call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<std::int32_t>(d, CUBLASLT_MATMUL_DESC_TRANSB, call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (call.bias) {
    set<std::uint32_t>(d, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set<std::int32_t>(d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(call.d.format));
  }
  return d;
}

Layout describe(const LtLayout& l, std::int64_t batch) {
  cublasLtMatrixLayout_t raw = nullptr;
  expect(cublasLtMatrixLayoutCreate(&raw, type_of(l.format), static_cast<std::uint64_t>(l.rows), static_cast<std::uint64_t>(l.columns), l.leading),
         "a matrix could not be described");
  Layout layout(raw);
  set<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set<std::int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, l.batch_stride);
  return layout;
}

/// A product as the library knows it, and the algorithm that is pinned to it.
struct Pinned {
  Description description;
  Layout a, b, d;
  cublasLtMatmulAlgo_t algorithm;
};

template <class Value>
Value configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value = 0;
  std::size_t written = 0;
  // What this version of the library does not know stays 0.
  return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written) == CUBLAS_STATUS_SUCCESS ? value : Value{0};
}

void record(const cublasLtMatmulHeuristicResult_t& found, ProductChoice& choice) {
  const cublasLtMatmulAlgo_t& a = found.algo;
  choice.algorithm = configured<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_ID);
  choice.tile = static_cast<int>(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID));
  choice.stages = static_cast<int>(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_STAGES_ID));
  choice.split_k = configured<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  choice.reduction = static_cast<int>(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
  choice.swizzle = static_cast<int>(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
  choice.custom = static_cast<int>(configured<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
  choice.inner_shape = configured<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  choice.cluster_shape = configured<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  std::size_t written = 0;
  if (cublasLtMatmulAlgoCapGetAttribute(&a, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &choice.numerics, sizeof choice.numerics, &written) !=
      CUBLAS_STATUS_SUCCESS)
    choice.numerics = 0;
  choice.workspace = found.workspaceSize;
  choice.waves = static_cast<double>(found.wavesCount);
}

/// The library's first proposal among those that keep what this program promises, if it has one.
struct Proposal {
  Pinned pinned;
  cublasStatus_t status;
  int count = 0;
  cublasLtMatmulHeuristicResult_t found = {};

  bool usable() const { return status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS; }
};

Proposal propose(cublasLtHandle_t handle, const LtKey& key, const void* bias) {
  const LtCall& call = key.call;
  Proposal made{{describe(call), describe(call.a, call.batch), describe(call.b, call.batch), describe(call.d, call.batch), {}}, CUBLAS_STATUS_SUCCESS};
  const Pinned& p = made.pinned;
  if (call.bias) set<const void*>(p.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);   // its alignment matters
  cublasLtMatmulPreference_t raw = nullptr;
  expect(cublasLtMatmulPreferenceCreate(&raw), "a preference could not be made");
  const Preference preference(raw);
  set<std::uint64_t>(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_cap);
  set<std::uint32_t>(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  set<std::uint64_t>(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, allowed_numerics(call.compute));
  set<std::uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.a);
  set<std::uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.b);
  set<std::uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.d);
  set<std::uint32_t>(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.d);
  made.status = cublasLtMatmulAlgoGetHeuristic(handle, p.description.get(), p.a.get(), p.b.get(), p.d.get(), p.d.get(), preference.get(), 1,
                                               &made.found, &made.count);
  return made;
}

Pinned choose(cublasLtHandle_t handle, const LtKey& key, const void* bias, ProductChoice& choice) {
  Proposal made = propose(handle, key, bias);
  if (made.status != CUBLAS_STATUS_SUCCESS || made.count == 0)
    throw Error(product_library() + " has no algorithm for " + to_string(key.call) + " on this GPU (" + cublasLtGetStatusName(made.status) +
                "). Use another mode, or another version of the library");
  expect(made.found.state, "the algorithm for " + to_string(key.call));
  made.pinned.algorithm = made.found.algo;
  record(made.found, choice);
  return std::move(made.pinned);
}

/// Of one GPU.
struct Library {
  cublasLtHandle_t handle = nullptr;
  Choices<Pinned> choices;
  std::mutex bias;   ///< its pointer is part of the description
  std::map<LtCall, bool> can;   ///< has_algorithm
  std::mutex can_mutex;

  Library() { expect(cublasLtCreate(&handle), "the library could not be started"); }
};

/// One for each GPU of the process, never destroyed: the driver may be gone when statics are.
std::map<int, Library*>& libraries() {
  static auto* all = new std::map<int, Library*>;
  return *all;
}
std::mutex libraries_mutex;

Library& library() {
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess)
    throw Error(std::string("cuda: which GPU is in use: ") + cudaGetErrorString(status));
  const std::lock_guard lock(libraries_mutex);
  Library*& own = libraries()[device];
  if (own == nullptr) own = new Library;
  return *own;
}

}  // namespace

std::size_t library_workspace_bytes() { return workspace_cap; }

std::int64_t most_scratch_bytes() { return std::int64_t{64} << 20; }

void run_call(const LtCall& call, const LtPointers& at, void* workspace, void* stream) {
  Library& own = library();
  const Pinned& p =
      own.choices.of(key_of(call, at), [&](ProductChoice& choice) { return choose(own.handle, key_of(call, at), at.bias, choice); });
  const float one = 1.0f, zero = 0.0f;
  const double wide_one = 1.0, wide_zero = 0.0;
  const bool wide = call.compute == LtCompute::fp64;
  const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
  const void* beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
  std::unique_lock lock(own.bias, std::defer_lock);
  if (call.bias) {
    lock.lock();
    set<const void*>(p.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias);
  }
  // beta is 0: C is not read, and may be D.
  expect(cublasLtMatmul(own.handle, p.description.get(), alpha, at.a, p.a.get(), at.b, p.b.get(), beta, at.d, p.d.get(), at.d, p.d.get(),
                        &p.algorithm, workspace, workspace_cap, static_cast<cudaStream_t>(stream)),
         "the product " + to_string(call));
}

bool has_algorithm(const LtCall& call) {
  Library& own = library();
  const std::lock_guard lock(own.can_mutex);
  const auto known = own.can.find(call);
  if (known != own.can.end()) return known->second;
  // Nothing is read: what counts of the bias is its alignment.
  const bool can = propose(own.handle, LtKey{call}, reinterpret_cast<const void*>(std::uintptr_t{256})).usable();
  own.can.emplace(call, can);
  return can;
}

std::string product_library() {
  const std::size_t version = cublasLtGetVersion();   // 130002: 13.0.2
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

std::vector<ProductChoice> product_choices() {
  std::vector<ProductChoice> all;
  const std::lock_guard lock(libraries_mutex);
  for (const auto& [device, own] : libraries()) {
    const std::vector<ProductChoice> list = own->choices.list();
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace ulpscope::cuda
