// The operation "fused" (kernels/fused.h): a chain of element-wise operations in one kernel. A thread takes runs of eight elements through
// the whole chain; values pass from stage to stage in fp32 in the block's memory, each rounded to its planned format on the way, so the bits
// are those of the operations alone. A launch that is counted, or reads what the kernel has no place for, runs its operations one by
// one, with memory of its own for what is not stored.
#include "kernels/fused.h"

#include <cstring>

#include "kernels/cuda/element_stage.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/lost_updates.h"
#include "kernels/cuda/multiply.h"
#include "kernels/error.h"

#if defined(__CUDACC__)
#define ULPSCOPE_ROLLED _Pragma("unroll 1")
#else
#define ULPSCOPE_ROLLED
#endif

namespace ulpscope::cuda {
namespace {

constexpr const char* operation = "fused";
constexpr int fused_threads = 128;     ///< twelve stages' runs of that many threads are 48 KiB
constexpr int most_views = 8, most_axes = 4;

/// Where the elements of an operand that does not lie in one piece are.
struct Strides {
  int rank = 0;
  std::int64_t extent[most_axes] = {};
  std::int64_t stride[most_axes] = {};
};

struct FusedRead {
  const void* data = nullptr;
  Format format = Format::fp32;
  std::int8_t slot = -1;        ///< of the stage it comes from; -1: memory
  std::int8_t view = -1;        ///< number of its strides; -1: it lies in one piece
  bool uniform = false;         ///< one number
  bool runs = false;            ///< by 16 bytes
};
struct FusedWrite {
  void* data = nullptr;
  Format format = Format::fp32;
  std::int8_t view = -1;
  std::int8_t slot = 0;
  bool stored = false, runs = false;
  bool read_later = false;      ///< by another stage
};
struct FusedLink {
  ElementCode code = ElementCode::CopyBody;
  FusedRead read[3];
  std::int8_t reads = 0;
  FusedWrite write;
  alignas(16) unsigned char parameters[most_parameter_bytes] = {};
};
/// Handed to the kernel by value: 4 KiB is what every driver takes.
struct FusedChain {
  std::int64_t elements = 0;
  int links = 0;
  int slots = 0;
  FusedLink link[most_stages];
  Strides view[most_views];
};
static_assert(sizeof(FusedChain) <= 4000);

ULPSCOPE_DEVICE std::int64_t place_of(const Strides& s, std::int64_t i) {
  std::int64_t offset = 0;
  for (int axis = s.rank - 1; axis > 0; --axis) {
    const std::int64_t outer = i / s.extent[axis];
    offset += (i - outer * s.extent[axis]) * s.stride[axis];
    i = outer;
  }
  return offset + i * s.stride[0];
}

/// A thread's column of a slot: element j is fused_threads further on, so that threads do not meet in a bank.
struct Column {
  float* first;
  ULPSCOPE_DEVICE_MEMBER float& operator[](int j) const { return first[j * fused_threads]; }
};
ULPSCOPE_DEVICE Column column_of(int slot) {
  return {static_cast<float*>(block_memory()) + static_cast<std::size_t>(slot) * run_length * fused_threads + thread_index()};
}

ULPSCOPE_DEVICE void fetch(const FusedChain& chain, const FusedRead& r, std::int64_t begin, int n, const Column& to) {
  if (r.runs && n == run_length) {
    float x[run_length];
    if (r.format == Format::fp16)
      wide::widen<Format::fp16>(r.data, begin, x);
    else if (r.format == Format::bf16)
      wide::widen<Format::bf16>(r.data, begin, x);
    else
      wide::widen<Format::fp32>(r.data, begin, x);
    ULPSCOPE_UNROLL
    for (int j = 0; j < run_length; ++j) to[j] = x[j];
    return;
  }
  ULPSCOPE_ROLLED
  for (int j = 0; j < n; ++j) {
    const std::int64_t at = r.uniform ? 0 : r.view >= 0 ? place_of(chain.view[r.view], begin + j) : begin + j;
    to[j] = load_any<float>(r.format, r.data, at);
  }
}

ULPSCOPE_DEVICE void settle(const FusedChain& chain, const FusedWrite& w, std::int64_t begin, int n, const Column& x) {
  if (w.stored) {
    if (w.runs && n == run_length) {
      float values[run_length];
      ULPSCOPE_UNROLL
      for (int j = 0; j < run_length; ++j) values[j] = x[j];
      if (w.format == Format::fp16)
        wide::narrow<Format::fp16>(w.data, begin, values);
      else if (w.format == Format::bf16)
        wide::narrow<Format::bf16>(w.data, begin, values);
      else
        wide::narrow<Format::fp32>(w.data, begin, values);
    } else {
      ULPSCOPE_ROLLED
      for (int j = 0; j < n; ++j) store_any(w.format, w.data, w.view >= 0 ? place_of(chain.view[w.view], begin + j) : begin + j, x[j]);
    }
  }
  if (!w.read_later || w.format == Format::fp32) return;
  ULPSCOPE_ROLLED
  for (int j = 0; j < n; ++j) x[j] = rounded_to_storage(w.format, x[j]);
}

template <class Body>
ULPSCOPE_DEVICE Body body_of(const FusedLink& link, const StepState* state, std::int64_t elements) {
  if constexpr (requires { Body::make(link.parameters, state, elements); }) {
    return Body::make(link.parameters, state, elements);
  } else {
    return Body{};
  }
}

template <class Body, int inputs>
ULPSCOPE_DEVICE void work(const FusedLink& link, const StepState* state, std::int64_t elements, std::int64_t begin, int n, const Column (&in)[3],
                          const Column& out) {
  const Body body = body_of<Body>(link, state, elements);
  ULPSCOPE_ROLLED
  for (int j = 0; j < n; ++j) {
    float x[inputs];
    ULPSCOPE_UNROLL
    for (int r = 0; r < inputs; ++r) x[r] = in[r][j];
    out[j] = apply(body, begin + j, x);
  }
}

/// Four elements share a call of the generator.
ULPSCOPE_DEVICE void drop(const FusedLink& link, const StepState* state, std::int64_t begin, int n, const Column& in, const Column& out) {
  const DropoutStream<float> stream = dropout_stream<float>(*reinterpret_cast<const DropoutParams*>(link.parameters), *state);
  ULPSCOPE_ROLLED
  for (int first = 0; first < n; first += 4) {
    float factor[4];
    dropout_factors(stream, (begin + first) / 4, 1, factor);
    ULPSCOPE_UNROLL
    for (int j = 0; j < 4; ++j)
      if (first + j < n) out[first + j] = in[first + j] * factor[j];
  }
}

ULPSCOPE_DEVICE void run_link(const FusedLink& link, const StepState* state, std::int64_t elements, std::int64_t begin, int n, const Column (&in)[3],
                              const Column& out) {
  switch (link.code) {
    case ElementCode::CopyBody:
      return work<CopyBody<float>, 1>(link, state, elements, begin, n, in, out);
    case ElementCode::DropoutBody:
      return drop(link, state, begin, n, in[0], out);
#define ULPSCOPE_CASE(BODY, INPUTS, COST) \
  case ElementCode::BODY:                 \
    return work<BODY<float>, INPUTS>(link, state, elements, begin, n, in, out);
      ULPSCOPE_ELEMENTWISE_BODIES(ULPSCOPE_CASE)
#undef ULPSCOPE_CASE
  }
}

/// No barriers: every thread is alone with its columns.
ULPSCOPE_KERNEL void fused_kernel(FusedChain chain, const StepState* state) {
  for (std::int64_t begin = global_thread() * run_length; begin < chain.elements; begin += global_threads() * run_length) {
    const std::int64_t left = chain.elements - begin;
    const int n = left < run_length ? static_cast<int>(left) : run_length;
    ULPSCOPE_ROLLED
    for (int i = 0; i < chain.links; ++i) {
      const FusedLink& link = chain.link[i];
      const Column out = column_of(link.write.slot);
      Column in[3] = {out, out, out};
      ULPSCOPE_UNROLL
      for (int r = 0; r < 3; ++r) {
        if (r >= link.reads) break;
        // What comes from memory waits in a column of its own, behind those of the stages.
        in[r] = column_of(link.read[r].slot >= 0 ? link.read[r].slot : chain.slots + r);
        if (link.read[r].slot < 0) fetch(chain, link.read[r], begin, n, in[r]);
      }
      run_link(link, state, chain.elements, begin, n, in, out);
      settle(chain, link.write, begin, n, out);
    }
  }
}

/// Its number in the chain, or -1; false: there is no place for it.
bool add_view(FusedChain& chain, int& views, const View& view, std::int8_t& number) {
  number = -1;
  if (view.flat || view.uniform) return true;
  if (view.rank > most_axes || views == most_views) return false;
  Strides& s = chain.view[views];
  s.rank = view.rank;
  for (int axis = 0; axis < view.rank; ++axis) {
    s.extent[axis] = view.extent[axis];
    s.stride[axis] = view.stride[axis];
  }
  number = static_cast<std::int8_t>(views++);
  return true;
}

bool by_runs(const View& view) {
  return view.flat && reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 &&
         (view.format == Format::fp32 || view.format == Format::fp16 || view.format == Format::bf16);
}

/// Columns of stages' results: one is free again once its last reader has run.
void place_results(FusedChain& chain, const FusedLaunch& fused) {
  int last[most_stages];
  for (int i = 0; i < fused.count; ++i) {
    last[i] = i;
    for (int r = 0; r < chain.link[i].reads; ++r)
      if (fused.stages[i].source[r] >= 0) last[fused.stages[i].source[r]] = i;
  }
  bool taken[most_stages] = {};
  for (int i = 0; i < fused.count; ++i) {
    for (int r = 0; r < chain.link[i].reads; ++r)
      if (const int source = fused.stages[i].source[r]; source >= 0) chain.link[i].read[r].slot = chain.link[source].write.slot;
    int slot = 0;
    while (taken[slot]) ++slot;
    chain.link[i].write.slot = static_cast<std::int8_t>(slot);
    chain.link[i].write.read_later = last[i] > i;
    taken[slot] = true;
    chain.slots = chain.slots > slot + 1 ? chain.slots : slot + 1;
    for (int j = 0; j <= i; ++j)
      if (last[j] == i) taken[chain.link[j].write.slot] = false;
  }
}

/// False: the operations have to be launched one by one. The answer does not depend on addresses.
bool make_chain(const FusedLaunch& fused, FusedChain& chain) {
  if (fused.count < 1 || fused.count > most_stages) fail(operation, "too many stages, or none");
  int views = 0;
  bool fits = true;
  for (int i = 0; i < fused.count; ++i) {
    const FusedStage& member = fused.stages[i];
    const Launch& launch = *member.launch;
    if (member.kernel->stage == nullptr) fail(operation, "an operation has to be launched alone");
    const auto& functions = *static_cast<const ElementStage*>(member.kernel->stage->functions);
    FusedLink& link = chain.link[i];
    link.code = functions.code;
    link.reads = static_cast<std::int8_t>(member.kernel->stage->reads);
    if (functions.parameter_bytes != 0 && launch.params != nullptr) std::memcpy(link.parameters, launch.params, functions.parameter_bytes);
    const View out = view_of(launch.out[0]);
    if (i == 0) chain.elements = out.elements;
    if (out.elements != chain.elements) fail(operation, "the stages' results have different sizes");
    link.write.data = out.data;
    link.write.format = out.format;
    link.write.stored = member.stored;
    link.write.runs = by_runs(out);
    fits = (!member.stored || add_view(chain, views, out, link.write.view)) && fits;
    for (int r = 0; r < link.reads; ++r) {
      if (member.source[r] >= i) fail(operation, "a stage reads the result of a later one");
      if (member.source[r] >= 0) continue;
      const View in = broadcast_view(operation, launch.in[member.kernel->stage->read[r]], launch.out[0].shape);
      link.read[r].data = in.data;
      link.read[r].format = in.format;
      link.read[r].uniform = in.uniform;
      link.read[r].runs = by_runs(in);
      fits = add_view(chain, views, in, link.read[r].view) && fits;
    }
  }
  chain.links = fused.count;
  place_results(chain, fused);
  return fits;
}

std::size_t shared_bytes(const FusedChain& chain) {
  int outside = 0;
  for (int i = 0; i < chain.links; ++i)
    for (int r = 0; r < chain.link[i].reads; ++r)
      if (chain.link[i].read[r].slot < 0) outside = r + 1 > outside ? r + 1 : outside;
  return static_cast<std::size_t>(chain.slots + outside) * run_length * fused_threads * sizeof(float);
}
constexpr std::size_t most_shared_bytes = 48u << 10;   // that every GPU gives without being asked

/// Memory for what is not stored, if the operations run one by one.
std::size_t fused_workspace(const Launch& launch) {
  const FusedLaunch& fused = *static_cast<const FusedLaunch*>(launch.params);
  FusedChain chain;
  make_chain(fused, chain);   // throws what does not go together
  Rooms rooms(nullptr);
  for (int i = 0; i < fused.count; ++i)
    if (!fused.stages[i].stored) rooms.take(fused.stages[i].launch->out[0].elements(), fused.stages[i].launch->out[0].format);
  return rooms.used();
}

void run_one_by_one(const Launch& launch, const FusedLaunch& fused) {
  Rooms rooms(launch.workspace);
  Tensor result[most_stages];
  for (int i = 0; i < fused.count; ++i) {
    const FusedStage& member = fused.stages[i];
    Launch one = *member.launch;
    Tensor in[max_stage_reads];
    for (int k = 0; k < one.in_count; ++k) in[k] = one.in[k];
    for (int r = 0; r < member.kernel->stage->reads; ++r)
      if (member.source[r] >= 0) in[member.kernel->stage->read[r]].data = result[member.source[r]].data;
    result[i] = one.out[0];
    if (!member.stored) result[i].data = rooms.take(result[i].elements(), result[i].format);
    one.in = in;
    one.out = &result[i];
    one.stream = launch.stream;
    member.kernel->run(one);
  }
}

bool is_counted(const FusedLaunch& fused) {
  for (int i = 0; i < fused.count; ++i)
    if (fused.stages[i].launch->counts != nullptr && fused.stages[i].launch->counts[0] != nullptr) return true;
  return false;
}

void run_fused(const Launch& l) {
  const FusedLaunch& fused = *static_cast<const FusedLaunch*>(l.params);
  FusedChain chain;
  const bool fits = make_chain(fused, chain);
  const std::size_t shared = shared_bytes(chain);
  if (!fits || shared > most_shared_bytes || is_counted(fused)) return run_one_by_one(l, fused);
  const std::int64_t runs = (chain.elements + run_length - 1) / run_length;
  launch_team(fused_kernel, blocks_for((runs + fused_threads - 1) / fused_threads, fused_threads), fused_threads, shared, l.stream, chain,
              static_cast<const StepState*>(l.state));
}

}  // namespace

void register_fused(KernelTable& table) { table.add("fused", Format::fp32, Kernel{run_fused, fused_workspace}); }

}  // namespace ulpscope::cuda
