// The operation "fused" against its members launched alone: the same bits in every result that is stored, whatever is not
// stored, the formats in between, the length of rows, threads and instruction sets; and the same counts.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/register.h"
#include "kernels/cuda/register.h"
#include "kernels/error.h"
#include "kernels/fused.h"
#include "kernels/ops/clamp.h"
#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

/// One member: reads[i] is an earlier member, or -1 for an input of its own.
struct Member {
  std::string operation;
  std::vector<int> reads;
  Format format;              ///< of its result
  bool stored;
  std::shared_ptr<void> params;
};

template <class P>
std::shared_ptr<void> params(const P& p) {
  return std::make_shared<P>(p);
}

struct Outcome {
  std::vector<std::vector<std::uint64_t>> results;   ///< by member: out[0], of what is stored
  std::vector<RoundingCounts> counts;                ///< by member: of out[0]
};

struct Outside {
  Format format = Format::fp32;
  bool broadcast = false;     ///< [last dimension] only
};

/// Runs the members, fused or one by one, on inputs that depend on the shape alone.
Outcome run(const std::vector<Member>& members, const Shape& shape, const Outside& outside, bool fused, bool counting, const KernelTable& table,
        int threads) {
  std::vector<std::unique_ptr<TestTensor>> memory;
  std::vector<std::vector<Tensor>> in, out;
  std::vector<Launch> launches(members.size());
  std::vector<FusedStage> stages(members.size());
  StepState state;
  state.iteration = 5;
  Outcome r;
  r.counts.resize(members.size());
  std::vector<std::vector<RoundingCounts*>> counts(members.size());
  Uniform uniform(11);
  std::vector<unsigned char> workspace;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Member& member = members[m];
    stages[m].kernel = &table.find(member.operation, Format::fp32);
    std::vector<Tensor>& inputs = in.emplace_back();
    for (std::size_t i = 0; i < member.reads.size(); ++i) {
      if (member.reads[i] >= 0) {
        inputs.push_back(out[static_cast<std::size_t>(member.reads[i])].front());
        continue;
      }
      const bool vector = outside.broadcast || (member.operation == "layer_norm" && i > 0);
      memory.push_back(std::make_unique<TestTensor>(vector ? Shape{shape[-1]} : shape, outside.format));
      for (std::int64_t e = 0; e < memory.back()->elements(); ++e) memory.back()->set(e, 4.0 * uniform() - 2.0);
      Tensor view = memory.back()->view();
      if (outside.broadcast) {   // stride 0 over the leading dimensions, as the engine launches it
        view.shape = shape;
        view.stride = {};
        view.stride[static_cast<std::size_t>(shape.rank - 1)] = 1;
      }
      inputs.push_back(view);
    }
    memory.push_back(std::make_unique<TestTensor>(shape, member.format));
    out.push_back({memory.back()->view()});
    Shape rows = shape;
    --rows.rank;
    for (int side = 0; member.operation == "layer_norm" && side < 2; ++side) {
      memory.push_back(std::make_unique<TestTensor>(rows, Format::fp32));
      out.back().push_back(memory.back()->view());
    }
  }
  for (std::size_t m = 0; m < members.size(); ++m) {
    Launch& launch = launches[m];
    counts[m].assign(out[m].size(), nullptr);
    if (counting) counts[m].front() = &r.counts[m];
    if (fused && !members[m].stored) out[m].front().data = nullptr;
    launch.in = in[m].data();
    launch.in_count = static_cast<int>(in[m].size());
    launch.out = out[m].data();
    launch.out_count = static_cast<int>(out[m].size());
    launch.params = members[m].params.get();
    launch.state = &state;
    launch.counts = counting ? counts[m].data() : nullptr;
    launch.threads = threads;
    stages[m].launch = &launch;
    stages[m].stored = members[m].stored;
    for (int i = 0; i < stages[m].kernel->stage->reads; ++i) stages[m].source[i] = members[m].reads[static_cast<std::size_t>(stages[m].kernel->stage->read[i])];
    for (std::size_t i = 0; fused && i < in[m].size(); ++i)
      if (members[m].reads[i] >= 0) in[m][i].data = nullptr;   // never read through memory
  }
  const auto launch_with_workspace = [&](const Kernel& kernel, Launch launch) {
    workspace.assign((kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(launch)) + 64, 0xff);
    launch.workspace = workspace.data() + (64 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64) % 64;
    kernel.run(launch);
  };
  if (fused) {
    const FusedLaunch all{stages.data(), static_cast<int>(stages.size())};
    Launch launch;
    launch.params = &all;
    launch.state = &state;
    launch.threads = threads;
    launch_with_workspace(table.find("fused", Format::fp32), launch);
  } else {
    for (std::size_t m = 0; m < members.size(); ++m) launch_with_workspace(*stages[m].kernel, launches[m]);
  }
  std::size_t index = 0;
  for (std::size_t m = 0; m < members.size(); ++m) {
    for (const int read : members[m].reads) index += read < 0 ? 1 : 0;
    const TestTensor& result = *memory[index];
    index += members[m].operation == "layer_norm" ? 3 : 1;
    std::vector<std::uint64_t>& bits = r.results.emplace_back();
    for (std::int64_t e = 0; members[m].stored && e < result.elements(); ++e) bits.push_back(std::isnan(result.get(e)) ? ~std::uint64_t{0} : result.bits(e));   // whatever its payload
  }
  for (const auto& tensor : memory) EXPECT_TRUE(tensor->guards_intact());
  return r;
}

/// Formats of the results in between and at the end.
std::vector<Member> elements_chain(Format between, Format last) {
  return {{"scale", {-1}, between, false, params(ScaleParams{3.7})},
          {"gelu", {0}, between, true, nullptr},
          {"dropout", {1}, between, false, params(DropoutParams{0.3f, 1, 2})},
          {"add", {2, -1}, last, true, nullptr},
          {"mul", {3, 0}, last, true, nullptr}};   // reads an earlier one again
}
std::vector<Member> rows_chain(Format between, Format last) {
  return {{"add", {-1, -1}, between, true, nullptr},
          {"layer_norm", {0, -1, -1}, between, false, params(LayerNormParams{1e-5f})},
          {"softmax", {1}, last, true, nullptr},
          {"dropout", {2}, last, false, params(DropoutParams{0.3f, 1, 2})},
          {"copy", {3}, Format::fp16, true, nullptr}};
}

const Shape shapes[] = {{3, 5}, {1, 1}, {7, 1500}, {2, 3, 1024}, {40, 33}};
const Format formats[] = {Format::fp32, Format::tf32, Format::fp16, Format::bf16, Format::fp8_e4m3, Format::fp8_e5m2};

TEST(Fused, HasTheBitsOfItsMembersAlone) {
  for (const InstructionSet set : instruction_sets())
    for (const Shape& shape : shapes)
      for (const Format between : formats)
        for (const bool rows : {false, true}) {
          const std::vector<Member> members = rows ? rows_chain(between, Format::bf16) : elements_chain(between, Format::bf16);
          const Outside outside{between == Format::fp16 ? Format::fp16 : Format::fp32, !rows && between == Format::bf16};
          const Outcome alone = run(members, shape, outside, false, false, kernels_of(set), 1);
          for (const int threads : {1, 3}) {
            const Outcome fused = run(members, shape, outside, true, false, kernels_of(set), threads);
            EXPECT_TRUE(alone.results == fused.results)
                << name(set) << ", " << to_string(shape) << ", " << name(between) << (rows ? ", rows" : ", elements");
          }
        }
}

TEST(Fused, CountsWhatItsMembersWouldCount) {
  for (const Shape& shape : shapes)
    for (const bool rows : {false, true}) {
      const std::vector<Member> members = rows ? rows_chain(Format::fp8_e4m3, Format::fp16) : elements_chain(Format::fp8_e4m3, Format::fp16);
      const Outcome alone = run(members, shape, {}, false, true, kernels_of(InstructionSet::portable), 1);
      const Outcome fused = run(members, shape, {}, true, true, kernels_of(InstructionSet::portable), 3);
      EXPECT_TRUE(alone.results == fused.results);
      for (std::size_t m = 0; m < members.size(); ++m) {
        const RoundingCounts &a = alone.counts[m], &f = fused.counts[m];
        EXPECT_EQ(a.elements, shape.elements()) << members[m].operation;
        EXPECT_EQ(a.elements, f.elements) << members[m].operation;
        EXPECT_EQ(a.flushed, f.flushed) << members[m].operation;
        EXPECT_EQ(a.subnormal, f.subnormal) << members[m].operation;
        EXPECT_EQ(a.overflowed, f.overflowed) << members[m].operation;
        EXPECT_EQ(a.greatest_magnitude, f.greatest_magnitude) << members[m].operation;
        EXPECT_TRUE(std::equal(a.histogram, a.histogram + histogram_bins, f.histogram)) << members[m].operation;
      }
    }
}

/// The kernels of GPUs on the emulated grid, in the memory of the host.
const KernelTable& grid() {
  static const KernelTable table = [] {
    KernelTable made;
    cuda::register_kernels(made);
    return made;
  }();
  return table;
}

/// Every operation with a stage, one after the other, as many as a launch takes.
std::vector<Member> some_operations(std::size_t first, Format between) {
  struct Operation {
    const char* name;
    int inputs;
    std::shared_ptr<void> params;
  };
  static const std::vector<Operation> all = {
      {"neg", 1, {}}, {"abs", 1, {}}, {"square", 1, {}}, {"sqrt", 1, {}}, {"rsqrt", 1, {}}, {"reciprocal", 1, {}}, {"exp", 1, {}}, {"log", 1, {}}, {"sin", 1, {}}, {"cos", 1, {}},
      {"erf", 1, {}}, {"tanh", 1, {}}, {"scale", 1, params(ScaleParams{-1.7})}, {"scale_by_loss_scale", 1, {}}, {"clamp", 1, params(ClampParams{-0.5, 0.7})},
      {"sigmoid", 1, {}}, {"relu", 1, {}}, {"silu", 1, {}}, {"gelu", 1, {}}, {"gelu_tanh", 1, {}}, {"add", 2, {}}, {"sub", 2, {}}, {"mul", 2, {}}, {"div", 2, {}}, {"maximum", 2, {}},
      {"tanh_backward", 2, {}}, {"sigmoid_backward", 2, {}}, {"sqrt_backward", 2, {}}, {"exp_backward", 2, {}}, {"relu_backward", 2, {}},
      {"clamp_backward", 2, params(ClampParams{-0.5, 0.7})}, {"silu_backward", 2, {}}, {"gelu_backward", 2, {}}, {"gelu_tanh_backward", 2, {}},
      {"masked_fill", 2, params(MaskedFillParams{-3.3})}, {"where", 3, {}}, {"l1_loss_backward", 3, {}}, {"bce_with_logits_backward", 3, {}}, {"mse_loss_backward", 3, {}},
      {"dropout", 1, params(DropoutParams{0.4f, 3, 4})}, {"copy", 1, {}}};
  std::vector<Member> members;
  for (std::size_t i = 0; i < most_stages; ++i) {
    const Operation& o = all[(first + i) % all.size()];
    const int at = static_cast<int>(i);
    std::vector<int> reads = {i == 0 ? -1 : at - 1};
    if (o.inputs >= 2) reads.push_back(i % 3 == 0 ? -1 : at - 2);   // an outside one, or one from before the last
    if (o.inputs == 3) reads.push_back(i % 3 == 1 ? -1 : at - 3);
    for (int& read : reads) read = std::max(read, -1);
    members.push_back({o.name, reads, i % 2 == 0 ? between : Format::fp32, i % 4 != 1, o.params});
  }
  return members;
}
constexpr std::size_t operations = 41;

const Shape grid_shapes[] = {{3, 5}, {1, 1}, {5, 77}, {2, 3, 400}};

TEST(FusedOnAGrid, HasTheBitsOfItsMembersAloneAndOfTheCpu) {
  for (const Shape& shape : grid_shapes)
    for (const Format between : formats) {
      const std::vector<Member> members = elements_chain(between, Format::bf16);
      for (const bool broadcast : {false, true}) {
        const Outside outside{between == Format::fp16 ? Format::fp16 : Format::fp32, broadcast};
        const Outcome cpu = run(members, shape, outside, true, false, kernels_of(InstructionSet::portable), 1);
        EXPECT_TRUE(run(members, shape, outside, false, false, grid(), 1).results == cpu.results) << to_string(shape) << ", " << name(between);
        EXPECT_TRUE(run(members, shape, outside, true, false, grid(), 1).results == cpu.results) << to_string(shape) << ", " << name(between) << ", fused";
      }
    }
}

TEST(FusedOnAGrid, EveryElementwiseOperationIsTheSameInAChain) {
  for (std::size_t first = 0; first < operations; first += 5)
    for (const Format between : formats) {
      const std::vector<Member> members = some_operations(first, between);
      const Outcome cpu = run(members, {5, 77}, {}, true, false, kernels_of(InstructionSet::portable), 1);
      const Outcome fused = run(members, {5, 77}, {}, true, false, grid(), 1);
      for (std::size_t m = 0; m < members.size(); ++m)
        EXPECT_TRUE(fused.results[m] == cpu.results[m]) << "from " << first << ", " << name(between) << ": " << members[m].operation;
    }
}

TEST(FusedOnAGrid, CountsWhatItsMembersWouldCount) {
  for (const Shape& shape : grid_shapes) {
    const std::vector<Member> members = elements_chain(Format::fp8_e4m3, Format::fp16);
    const Outcome cpu = run(members, shape, {}, true, true, kernels_of(InstructionSet::portable), 1), fused = run(members, shape, {}, true, true, grid(), 1);
    EXPECT_TRUE(cpu.results == fused.results);
    for (std::size_t m = 0; m < members.size(); ++m) {
      EXPECT_EQ(cpu.counts[m].elements, fused.counts[m].elements) << members[m].operation;
      EXPECT_EQ(cpu.counts[m].flushed, fused.counts[m].flushed) << members[m].operation;
      EXPECT_EQ(cpu.counts[m].overflowed, fused.counts[m].overflowed) << members[m].operation;
      EXPECT_EQ(cpu.counts[m].greatest_magnitude, fused.counts[m].greatest_magnitude) << members[m].operation;
    }
  }
}

TEST(FusedOnAGrid, ReadsAnyViewAndWhatItHasNoPlaceForOneByOne) {
  // A transposed operand; then more views than the kernel is handed, and one with too many axes: the operations run alone.
  constexpr std::int64_t rows = 6, columns = 10;
  std::vector<float> x(rows * columns), sum(rows * columns), last(rows * columns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 20.0f;
  const Tensor flat(x.data(), Format::fp32, {rows, columns});
  Tensor turned = flat;
  turned.stride = {};
  turned.stride[0] = 1;
  turned.stride[1] = rows;
  for (const int stages : {2, 12}) {
    std::vector<Launch> launches(static_cast<std::size_t>(stages));
    std::vector<FusedStage> members(launches.size());
    std::vector<std::array<Tensor, 2>> in(launches.size());
    std::vector<Tensor> out(launches.size(), Tensor(nullptr, Format::fp32, {rows, columns}));
    out.back().data = last.data();
    for (std::size_t i = 0; i < launches.size(); ++i) {
      in[i] = {i == 0 ? flat : out[i - 1], turned};
      launches[i].in = in[i].data();
      launches[i].in_count = 2;
      launches[i].out = &out[i];
      launches[i].out_count = 1;
      members[i] = {&grid().find("add", Format::fp32), &launches[i], {i == 0 ? -1 : static_cast<int>(i) - 1, -1, -1, -1}, i + 1 == launches.size()};
    }
    const FusedLaunch all{members.data(), stages};
    Launch launch;
    launch.params = &all;
    const Kernel& kernel = grid().find("fused", Format::fp32);
    std::vector<unsigned char> workspace(kernel.workspace_bytes(launch) + 64, 0xff);
    launch.workspace = workspace.data() + (64 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64) % 64;
    kernel.run(launch);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        float expected = x[static_cast<std::size_t>(i * columns + j)];
        for (int s = 0; s < stages; ++s) expected += x[static_cast<std::size_t>(i + j * rows)];
        ASSERT_EQ(last[static_cast<std::size_t>(i * columns + j)], expected) << stages << " stages: " << i << ", " << j;
      }
  }
}

TEST(Fused, RefusesWhatDoesNotGoTogether) {
  KernelTable table;
  register_cpu_kernels(table, InstructionSet::portable);
  std::vector<float> data(64);
  const Tensor x(data.data(), Format::fp32, {4, 8}), y(data.data(), Format::fp32, {2, 16}), z(data.data(), Format::fp32, {2, 3});
  const auto launch_of = [](const Tensor& t) {
    Launch l;
    l.in = l.out = &t;
    l.in_count = l.out_count = 1;
    return l;
  };
  const Launch lx = launch_of(x), ly = launch_of(y), lz = launch_of(z);
  const auto fuse = [&](const char* a, const Launch& la, const char* b, const Launch& lb) {
    const FusedStage stages[] = {{&table.find(a, Format::fp32), &la, {-1, -1, -1, -1}, true}, {&table.find(b, Format::fp32), &lb, {0, -1, -1, -1}, true}};
    const FusedLaunch all{stages, 2};
    Launch launch;
    launch.params = &all;
    table.find("fused", Format::fp32).workspace_bytes(launch);
  };
  EXPECT_NO_THROW(fuse("neg", lx, "softmax", lx));
  EXPECT_THROW(fuse("softmax", lx, "softmax", ly), Error);   // rows of different lengths
  EXPECT_THROW(fuse("neg", lx, "neg", lz), Error);           // different sizes
  EXPECT_THROW(fuse("neg", lx, "sum_all", lx), Error);       // not an operation on runs
}

}  // namespace
}  // namespace ulpscope::test
