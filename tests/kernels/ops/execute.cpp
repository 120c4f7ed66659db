#include "tests/kernels/ops/execute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "kernels/cpu/register.h"
#include "kernels/device.h"
#include "tests/kernels/emulated/emulated_device.h"
#include "tests/kernels/gpu_device.h"

namespace ulpscope::test {
namespace {

constexpr std::size_t guard_bytes = 64;
constexpr unsigned char guard = 0xa5;

Device& emulated_device() {
  static const std::unique_ptr<Device> device = make_emulated_device();
  return *device;
}

/// The device whose kernels these are, if its memory is not the host's.
Device* device_apart(const KernelTable& kernels) {
  Device* const gpu = gpu_device();
  for (Device* device : {&emulated_device(), gpu})
    if (device != nullptr && &device->kernels() == &kernels) return device;
  return nullptr;
}

/// Operands of a launch in the memory of a device, guarded on both sides. What overlaps on the host does so there.
class Placement {
 public:
  Placement(Device& device, const Launch& launch) : device_(device) {
    for (int i = 0; i < launch.in_count; ++i) add(launch.in[i], false);
    for (int o = 0; o < launch.out_count; ++o) add(launch.out[o], true);
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (Range& range : ranges_) {
      if (!blocks_.empty() && range.begin < blocks_.back().range.end) {
        Range& last = blocks_.back().range;
        last.end = std::max(last.end, range.end);
        last.written = last.written || range.written;
      } else {
        blocks_.push_back({range, 0, {}, {}});
      }
    }
    for (Block& b : blocks_) {
      const auto bytes = static_cast<std::size_t>(b.range.end - b.range.begin);
      b.first = guard_bytes + reinterpret_cast<std::uintptr_t>(b.range.begin) % 64;   // aligned as on the host
      b.image.assign(b.first + bytes + guard_bytes, guard);
      std::memcpy(b.image.data() + b.first, b.range.begin, bytes);
      b.memory = Buffer(device, b.image.size());
      device.copy_to_device(b.memory.data(), b.image.data(), b.image.size());
    }
    for (int i = 0; i < launch.in_count; ++i) in_.push_back(placed(launch.in[i]));
    for (int o = 0; o < launch.out_count; ++o) out_.push_back(placed(launch.out[o]));
  }

  const std::vector<Tensor>& in() const { return in_; }
  const std::vector<Tensor>& out() const { return out_; }

  /// Results to the host; and nothing else was written.
  void take_back(const std::string& operation) {
    for (Block& b : blocks_) {
      std::vector<unsigned char> now(b.image.size());
      device_.copy_to_host(now.data(), b.memory.data(), now.size());
      const auto end = static_cast<std::ptrdiff_t>(now.size() - guard_bytes), first = static_cast<std::ptrdiff_t>(b.first);
      EXPECT_TRUE(std::equal(now.begin(), now.begin() + first, b.image.begin())) << operation << ": written before an operand";
      EXPECT_TRUE(std::equal(now.begin() + end, now.end(), b.image.begin() + end)) << operation << ": written behind an operand";
      if (b.range.written) {
        std::memcpy(b.range.begin, now.data() + b.first, now.size() - b.first - guard_bytes);
      } else {
        EXPECT_TRUE(now == b.image) << operation << ": an input was written";
      }
    }
  }

 private:
  struct Range {
    unsigned char* begin;
    unsigned char* end;
    bool written;
  };
  struct Block {
    Range range;
    std::size_t first;                  ///< of the range in the block
    std::vector<unsigned char> image;   ///< as it was before the launch
    Buffer memory;
  };

  void add(const Tensor& t, bool written) {
    if (t.data == nullptr || t.elements() == 0) return;
    std::int64_t low = 0, high = 0;
    for (int i = 0; i < t.shape.rank; ++i) {
      const std::int64_t reach = (t.shape[i] - 1) * t.stride[static_cast<std::size_t>(i)];
      (reach < 0 ? low : high) += reach;
    }
    auto* data = static_cast<unsigned char*>(t.data);
    const std::int64_t item = storage_bytes(t.format);
    ranges_.push_back({data + low * item, data + (high + 1) * item, written});
  }

  Tensor placed(const Tensor& t) const {
    Tensor view = t;
    for (const Block& b : blocks_) {
      auto* data = static_cast<unsigned char*>(t.data);
      if (data >= b.range.begin && data < b.range.end) view.data = static_cast<unsigned char*>(b.memory.data()) + b.first + (data - b.range.begin);
    }
    return view;
  }

  Device& device_;
  std::vector<Range> ranges_;
  std::vector<Block> blocks_;
  std::vector<Tensor> in_, out_;
};

std::size_t workspace_bytes(const Kernel& kernel, const Launch& launch) {
  return kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(launch);
}

/// The workspace is filled with NaN patterns, so that what a kernel forgets to write is seen; guarded behind.
StepState execute_apart(Device& device, const Kernel& kernel, const std::string& operation, Launch launch, const StepState& state) {
  Placement operands(device, launch);
  launch.in = operands.in().data();
  launch.out = operands.out().data();
  launch.stream = device.stream();
  StepState after = state;
  const Buffer device_state(device, sizeof after);
  device.copy_to_device(device_state.data(), &after, sizeof after);
  launch.state = static_cast<StepState*>(device_state.data());
  const std::size_t bytes = workspace_bytes(kernel, launch);
  const Buffer workspace(device, bytes + guard_bytes);
  device.fill(workspace.data(), 0xff, bytes);
  device.fill(static_cast<unsigned char*>(workspace.data()) + bytes, guard, guard_bytes);
  launch.workspace = workspace.data();
  kernel.run(launch);
  device.synchronize();
  unsigned char behind[guard_bytes];
  device.copy_to_host(static_cast<void*>(behind), static_cast<unsigned char*>(workspace.data()) + bytes, guard_bytes);
  EXPECT_EQ(std::count(behind, behind + guard_bytes, guard), guard_bytes) << operation << ": written beyond its workspace";
  operands.take_back(operation);
  device.copy_to_host(&after, device_state.data(), sizeof after);
  return after;
}

StepState execute_here(const Kernel& kernel, const std::string& operation, Launch launch, const StepState& state) {
  StepState after = state;
  launch.state = &after;
  const std::size_t bytes = workspace_bytes(kernel, launch);
  std::vector<unsigned char> workspace(bytes + 128 + guard_bytes, 0xff);
  const std::size_t offset = (64 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 64) % 64;
  launch.workspace = workspace.data() + offset;
  std::memset(workspace.data() + offset + bytes, guard, guard_bytes);
  kernel.run(launch);
  const unsigned char* behind = workspace.data() + offset + bytes;
  EXPECT_EQ(std::count(behind, behind + guard_bytes, guard), guard_bytes) << operation << ": written beyond its workspace";
  return after;
}

}  // namespace

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  for (int i = 0; i < instruction_set_count; ++i) {
    if (available(static_cast<InstructionSet>(i))) sets.push_back(static_cast<InstructionSet>(i));
  }
  return sets;
}

const KernelTable& kernels_of(InstructionSet set) {
  static std::map<InstructionSet, KernelTable> tables;
  KernelTable& table = tables[set];
  if (table.entries().empty()) register_cpu_kernels(table, set);
  return table;
}

std::vector<NamedKernels> grid_kernels() {
  if (Device* const gpu = gpu_device()) return {{gpu->description().name, gpu->kernels()}};
  return {{"emulated grid", emulated_device().kernels()}};
}

bool grids_have_the_bits_of(Format compute) { return compute != Format::fp64 || gpu_device() == nullptr; }

std::vector<NamedKernels> all_kernels() {
  std::vector<NamedKernels> all;
  for (const InstructionSet set : instruction_sets()) all.push_back({name(set), kernels_of(set)});
  for (const NamedKernels& grid : grid_kernels()) all.push_back(grid);
  return all;
}

StepState execute(const KernelTable& kernels, const std::string& operation, Format compute, const Launch& launch, const StepState& state) {
  const Kernel& kernel = kernels.find(operation, compute);
  if (Device* const device = device_apart(kernels)) return execute_apart(*device, kernel, operation, launch, state);
  return execute_here(kernel, operation, launch, state);
}

StepState execute(const KernelTable& kernels, const std::string& operation, Format compute, const std::vector<Tensor>& in,
                  const std::vector<Tensor>& out, const void* params, const StepState& state, int threads,
                  const std::vector<RoundingCounts*>& counts) {
  Launch launch;
  launch.in = in.data();
  launch.in_count = static_cast<int>(in.size());
  launch.out = out.data();
  launch.out_count = static_cast<int>(out.size());
  launch.params = params;
  launch.threads = threads;
  launch.counts = counts.empty() ? nullptr : counts.data();
  return execute(kernels, operation, compute, launch, state);
}

StepState execute(const std::string& operation, Format compute, const std::vector<Tensor>& in,
                  const std::vector<Tensor>& out, const void* params, const StepState& state, InstructionSet set,
                  int threads, const std::vector<RoundingCounts*>& counts) {
  return execute(kernels_of(set), operation, compute, in, out, params, state, threads, counts);
}

}  // namespace ulpscope::test
