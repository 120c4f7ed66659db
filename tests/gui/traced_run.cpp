#include "tests/gui/traced_run.h"

#include <array>
#include <cmath>

#include "kernels/error.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::reports {
namespace {

/// As pushPlan of gui_test.cpp.
void pushThreeNodes(RunFileWriter& writer, PlanId plan, const std::string& format) {
  const Signature wide{.shape = {64, 64}, .format = "fp32"}, narrow{.shape = {64, 64}, .format = format};
  writer.push(NodeRecord{.plan = plan, .id = NodeId{1}, .position = 0, .operation = "matmul", .name = "block0.query", .inputs = {narrow, narrow}, .outputs = {narrow}, .compute_format = format, .flops = 524288});
  writer.push(NodeRecord{.plan = plan, .id = NodeId{2}, .position = 1, .operation = "softmax", .name = "block0.scores", .inputs = {wide}, .outputs = {wide}, .compute_format = "fp32"});
  writer.push(NodeRecord{.plan = plan, .id = NodeId{3}, .position = 2, .operation = "matmul", .name = "block0.query.backward", .phase = Phase::backward, .inputs = {narrow, narrow}, .outputs = {narrow}, .compute_format = format});
}

RunRecord gpuRun(const std::string& mode, std::int64_t id, std::int64_t steps) {
  RunRecord run = made_up(mode, 0, 2.0).run;
  run.id = RunId{id};
  run.plan = PlanId{id};
  run.device = "Testium GPU";
  run.device_kind = "cuda";
  run.time_provenance = Provenance::measured;
  run.steps_planned = steps;
  return run;
}

StepRecord stepOf(std::int64_t run, std::int64_t step, double seconds) {
  return {.run = RunId{run}, .step = step, .applied = step + 1, .loss = 2.0 + 2.0 * std::exp(-0.01 * static_cast<double>(step)), .learning_rate = 1e-3, .gradient_norm = 1.0, .wall_seconds = seconds, .tokens = 512};
}

}  // namespace

void writeTraced(const std::string& path, RunStatus status, const std::vector<std::int64_t>& counted) {
  RunFileWriter writer(path, {.overwrite = true});
  writer.push(ExperimentRecord{.name = "traced", .producer_version = "0.1.0", .created = "2025-01-31T12:00:00Z"});
  RunRecord run = gpuRun("fp16", 1, 4);
  run.status = status;
  pushThreeNodes(writer, PlanId{1}, "fp16");
  writer.push(run);
  for (std::int64_t step = 0; step < 4; ++step) {
    StepRecord row = stepOf(1, step, 0.01);
    row.skipped = step == 3;
    row.finite = step != 3;
    row.loss_scale = step == 3 ? 65536.0 : 32768.0;
    writer.push(row);
  }
  const auto kernel = [&](std::int64_t step, Count node, std::int64_t stream, const std::string& name, std::int64_t start_us, std::int64_t duration_us) {
    writer.push(KernelRecord{.run = RunId{1}, .step = step, .node = node ? std::optional(NodeId{*node}) : std::nullopt, .correlation = start_us, .stream = stream, .name = name, .start_ns = 1000 * start_us,
                             .duration_ns = 1000 * duration_us, .grid = {128, 2, 1}, .block = {256, 1, 1}, .registers = 64, .static_shared_bytes = 1024, .tensor_pipe = name == "gemm" ? Number(0.625) : std::nullopt});
  };
  for (const auto& [step, at] : {std::pair<std::int64_t, std::int64_t>{1, 25'000}, {2, 20'000}}) {
    kernel(step, 1, 7, "gemm", at, 1'500);
    kernel(step, std::nullopt, 9, "[memcpy device to device]", at + 1'000, 800);
    kernel(step, 2, 7, "softmax_rows", at + 2'000, 1'000);
    kernel(step, 3, 7, "gemm", at + 4'000, 5'000);
  }
  writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = "kernel trace", .count = 8, .detail = "trace covers 2 of 4 steps; 8 launches, 8 of them answered; 8 kernels, 0 copies and sets, 0 records dropped"});
  for (const std::int64_t step : counted)
    writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = counted_step_subject + std::to_string(step), .count = step, .detail = "is the step whose nodes were counted"});
  writer.close();
}

void writeManyKernels(const std::string& path, const ManyKernels& many) {
  constexpr std::int64_t every = 20'000;  // ns from one kernel to the next
  constexpr std::array<const char*, 6> names{"ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", "softmax_warp_forward", "void cast_fp32_to_fp16<256>(float const*, __half*, long)",
                                             "layer_norm_rows", "ampere_fp16_s16816gemm_fp16_256x64_ldg8_f2f_stages_64x3_nn", "adamw_multi_tensor"};
  RunFileWriter writer(path, {.overwrite = true, .queue_capacity = 1 << 16});
  writer.push(ExperimentRecord{.name = "many", .producer_version = "0.1.0", .created = "2025-01-31T12:00:00Z"});
  static constexpr std::array<const char*, 4> modes{"fp16", "fp32", "tf32", "bf16"};
  const std::int64_t inAStep = std::max<std::int64_t>(1, many.kernels / many.steps);
  for (std::int64_t run = 1; run <= 1 + many.otherModes; ++run) {
    pushThreeNodes(writer, PlanId{run}, "fp16");
    writer.push(gpuRun(modes[static_cast<std::size_t>(run - 1) % modes.size()], run, many.steps + many.otherSteps));
    for (std::int64_t step = 0; step < many.steps + many.otherSteps; ++step) {
      writer.push(stepOf(run, step, 1e-9 * static_cast<double>(every * (inAStep / many.together + 40))));
      if (step % 4096 == 4095) writer.flush();
    }
  }
  for (std::int64_t i = 0; i < many.kernels; ++i) {
    const std::int64_t step = std::min(many.steps - 1, i / inAStep), within = i - step * inAStep;
    const auto name = static_cast<std::size_t>((i * 7 + i / 11) % 6);
    const std::int64_t start = step * every * (inAStep / many.together + 40) + within / many.together * every;
    writer.push(KernelRecord{.run = RunId{1}, .step = step, .node = NodeId{1 + within * 3 / inAStep}, .correlation = i, .stream = i % 5 == 4 ? 13 : 7, .name = names[name], .start_ns = start,
                             .duration_ns = 2'000 + (i * 7919) % 17'000, .grid = {128, 1, 1}, .block = {256, 1, 1}, .registers = 96});
    if (i % 32'768 == 32'767) writer.flush();
  }
  writer.close();
  if (writer.dropped() > 0) throw Error("kernels were dropped");
}

}  // namespace ulpscope::reports
