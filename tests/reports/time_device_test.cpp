// The time report of a GPU, from forged kernel records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "reports/analysis/time.h"
#include "reports/analysis/time_peaks.h"
#include "tests/reports/scratch.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::reports {
namespace {

using testing::Contains;
using testing::HasSubstr;

class TimeOfADevice : public Scratch {
 protected:
  ModeTime of(const ForgedTime& t) { return time_report(write_times(in("g.ulp"), {&t}), {}).modes.at(0); }
  static ForgedTime gpu(const std::string& mode, const std::string& device = "NVIDIA H200") {
    ForgedTime t(mode);
    t.forged.run.device = device;
    t.forged.run.device_kind = "cuda";
    t.forged.run.time_provenance = Provenance::measured;
    t.sample(1e-3, false, 0.9e-3);
    return t;
  }
};

// Two traced steps of a product (100, 140 µs), its relu on another stream at the same time, an update, a copy; and a kernel of no step.
TEST_F(TimeOfADevice, KernelsAreMatchedByNode) {
  ForgedTime t = gpu("fp32", "Testium GPU");
  t.timed("y", 7e-3);  // the host's clock around a launch: not what the device took
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  t.kernel("relu", 1, t.id("y.relu"), 1050, 100);  // 50 µs beside the product
  t.kernel("sgd", 1, t.id("w.update"), 1200, 20);
  t.kernel("gemm", 2, t.id("y"), 2000, 140);
  t.kernel("[CUDA memcpy HtoD]", 2, std::nullopt, 2200, 40);
  t.kernel("strange", 2, NodeId{99}, 2300, 60);
  t.kernel("warm up", std::nullopt, t.id("y"), 500, 900);
  const ModeTime m = of(t);
  EXPECT_EQ(m.nodes_from, NodeSource::kernels);
  EXPECT_DOUBLE_EQ(*node_named(m, "y").seconds.value, 170e-6);  // (100 + 100 + 140) / 2
  EXPECT_DOUBLE_EQ(*node_named(m, "y").kernels, 1.5);
  EXPECT_DOUBLE_EQ(*node_named(m, "w.update").seconds.value, 10e-6);
  EXPECT_EQ(node_named(m, "[CUDA memcpy HtoD]").category, TimeCategory::copies);
  EXPECT_DOUBLE_EQ(*node_named(m, "[CUDA memcpy HtoD]").seconds.value, 20e-6);
  EXPECT_EQ(node_named(m, "strange").category, TimeCategory::unmatched);
  EXPECT_DOUBLE_EQ(*m.nodes_sum.value, 230e-6);
  ASSERT_TRUE(m.device);
  EXPECT_EQ(m.device->traced_steps, 2);
  EXPECT_EQ(m.device->without_step, 1);
  EXPECT_EQ(m.device->without_node, 2);
  EXPECT_DOUBLE_EQ(*m.device->kernels_per_step.value, 3.0);
  EXPECT_DOUBLE_EQ(*m.device->busy_seconds.value, 205e-6);  // (150 + 20 + 140 + 40 + 60) / 2
  EXPECT_DOUBLE_EQ(*m.device->busy.value, 0.205);
  EXPECT_DOUBLE_EQ(*m.device_step.value, 0.9e-3);
  EXPECT_FALSE(node_named(m, "unscale_check").seconds.value);  // no kernel of it was seen
  EXPECT_EQ(m.untimed, 1);
  EXPECT_THAT(m.notes, Contains(HasSubstr("1 of 5 launches have no time")));
  EXPECT_THAT(m.notes, Contains(HasSubstr("2 of 6 kernels belong to no known node")));
}

TEST_F(TimeOfADevice, LaunchBound) {
  ForgedTime t = gpu("fp16", "Testium GPU");
  t.kernel("gemm", 1, t.id("y"), 1000, 300);
  EXPECT_THAT(reason_keys(of(t)), Contains("launch_bound"));
  t.kernels[0].duration_ns = 600'000;
  EXPECT_THAT(reason_keys(of(t)), testing::Not(Contains("launch_bound")));
}

TEST_F(TimeOfADevice, TensorCoresAreCountedOrInferredOrUnknown) {
  ForgedTime t = gpu("bf16");
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  EXPECT_EQ(node_named(of(t), "y").tensor_cores, TensorCores::unknown);  // 0.7 TFLOP/s say nothing
  EXPECT_FALSE(of(t).device->tensor_core_share.value);
  t.kernels[0].tensor_pipe = 0.0;
  EXPECT_EQ(node_named(of(t), "y").tensor_cores, TensorCores::no);
  t.kernels[0].tensor_pipe = 0.25;
  EXPECT_EQ(node_named(of(t), "y").tensor_cores, TensorCores::yes);
  EXPECT_EQ(node_named(of(t), "y").tensor_cores_provenance, Provenance::counted);
  EXPECT_DOUBLE_EQ(*of(t).device->tensor_core_share.value, 1.0);
  t.kernels[0].tensor_pipe = std::nullopt;
  for (NodeRecord& node : t.forged.nodes)
    if (node.name == "y") node.flops = 10'000'000'000;  // in 100 µs: 100 TFLOP/s, above the 67 of fp32
  const ModeTime m = of(t);
  EXPECT_EQ(node_named(m, "y").tensor_cores, TensorCores::yes);
  EXPECT_EQ(node_named(m, "y").tensor_cores_provenance, Provenance::inferred);
  EXPECT_NEAR(*node_named(m, "y").of_peak, 100.0 / 989.4, 1e-4);
  EXPECT_FALSE(node_named(m, "y").faster_than_peak);
}

TEST_F(TimeOfADevice, FasterThanTheHardware) {
  ForgedTime t = gpu("fp32");
  t.kernel("gemm", 1, t.id("y"), 1000, 100);
  for (NodeRecord& node : t.forged.nodes)
    if (node.name == "y") node.flops = 7'000'000'000;  // 70 TFLOP/s, peak 67
  const ModeTime m = of(t);
  EXPECT_TRUE(node_named(m, "y").faster_than_peak);
  EXPECT_THAT(m.notes, Contains(HasSubstr("faster than the hardware")));
  ForgedTime late = gpu("fp32");
  late.samples[0].wall_seconds = 0.5e-3;  // the device was at work for 0.9 ms
  EXPECT_THAT(of(late).notes, Contains(HasSubstr("clock was stopped too early")));
}

TEST_F(TimeOfADevice, RecordsThatAreNoUse) {
  ForgedTime t = gpu("fp32", "Testium GPU");
  t.kernel("gemm", 1, t.id("y"), 0, 100);
  t.kernel("gemm", 1, t.id("y"), 1000, 50);
  const ModeTime m = of(t);
  EXPECT_DOUBLE_EQ(*node_named(m, "y").seconds.value, 50e-6);
  EXPECT_THAT(m.notes, Contains(HasSubstr("1 of 2 kernel records")));
  t.kernels[1].step = std::nullopt;
  t.timed("y", 7e-3);
  EXPECT_EQ(of(t).nodes_from, NodeSource::clock);
  EXPECT_THAT(of(t).notes, Contains(HasSubstr("no time per step can be made of them")));
}

TEST_F(TimeOfADevice, TheFactorOfTheBoundIsThePeaks) {
  const auto bound = [&](const std::string& device, const std::string& mode) {
    ForgedTime fp32 = gpu("fp32", device), lower(mode, 2);
    fp32.kernel("gemm", 1, fp32.id("y"), 1000, 600);
    lower.forged.run.device = device;
    lower.forged.run.device_kind = "cuda";
    return time_report(write_times(in("b.ulp"), {&fp32, &lower}), {}).modes.at(1).bound;
  };
  EXPECT_DOUBLE_EQ(*bound("NVIDIA H200", "bf16").factor.value, 989.4 / 67);
  EXPECT_DOUBLE_EQ(*bound("NVIDIA H200", "bf16").ideal.value, 1.0 / (1.0 - 0.6 + 0.6 * 67 / 989.4));
  EXPECT_DOUBLE_EQ(*bound("NVIDIA GeForce RTX 4090", "tf32").factor.value, 1.0);  // no gain there
  EXPECT_DOUBLE_EQ(*bound("Tesla T4", "bf16").factor.value, 1.0);                 // no hardware
  EXPECT_DOUBLE_EQ(*bound("Testium GPU", "bf16").factor.value, 2.0);
  EXPECT_FALSE(bound("Testium GPU", "tf32").factor.value);
  EXPECT_DOUBLE_EQ(*bound("Testium GPU", "tf32").free.value, 2.5);
}

TEST(DevicePeaks, NamesAreMatchedByWholeWords) {
  EXPECT_EQ(device_peaks("NVIDIA H200")->bandwidth, 4800);
  EXPECT_EQ(device_peaks("NVIDIA GH200 480GB")->bandwidth, 4000);
  EXPECT_EQ(device_peaks("NVIDIA H100 PCIe")->fp32, 51);
  EXPECT_EQ(device_peaks("NVIDIA H100 80GB HBM3")->fp32, 67);
  EXPECT_EQ(device_peaks("NVIDIA A100-SXM4-80GB")->bandwidth, 2039);
  EXPECT_EQ(*device_peaks("Tesla V100-SXM2-16GB")->fp16, 125);
  EXPECT_EQ(*device_peaks("NVIDIA L40S")->bf16, 362);
  EXPECT_EQ(*device_peaks("NVIDIA L4")->bf16, 121);
  for (const char* unknown : {"NVIDIA H200 NVL", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "AMD EPYC", ""})
    EXPECT_FALSE(device_peaks(unknown)) << unknown;
  EXPECT_FALSE(device_peaks("Tesla T4")->of("bf16"));
  EXPECT_EQ(*device_peaks("Tesla T4")->of("fp16"), 65);
}

}  // namespace
}  // namespace ulpscope::reports
