#include "profiler/experiment/single_run.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <new>
#include <optional>

#include "kernels/error.h"
#include "kernels/out_of_memory.h"
#include "profiler/experiment/kept_weights.h"
#include "profiler/experiment/machine.h"
#include "profiler/experiment/observe.h"
#include "profiler/experiment/plan_records.h"
#include "profiler/experiment/run_record.h"
#include "profiler/probes/memory_ledger.h"
#include "profiler/probes/range_probe.h"
#include "profiler/probes/recorder.h"
#include "profiler/probes/shadow.h"
#include "profiler/probes/sums_probe.h"
#include "profiler/probes/tensor_probe.h"
#include "profiler/trace/gpu_watch.h"
#include "profiler/trace/kernel_run.h"
#include "profiler/trace/node_clock.h"
#include "profiler/trace/node_events.h"
#include "profiler/trace/nvtx_ranges.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;
using reports::RunStatus;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

Checkpointer::Checkpointer(const RunContext& context, CheckpointLabel label, Faults& faults)
    : context_(context), label_(std::move(label)), faults_(faults) {}

void Checkpointer::resume(std::int64_t saved, double seconds) {
  saved_ = saved;
  seconds_ = seconds;
}

void Checkpointer::save_if_due(const engine::Trainer& trainer) {
  const std::int64_t every = context_.experiment.run.checkpoint_every;
  if (every > 0 ? trainer.iteration() % every == 0 : every == 0 && seconds_since(last_) >= seconds_between) save(trainer);
}

void Checkpointer::save(const engine::Trainer& trainer) {
  if (context_.experiment.run.checkpoint_every < 0) return;
  const Clock::time_point begin = Clock::now();
  // A checkpoint is worth nothing without the rows of the steps before it.
  context_.writer.flush();
  if (!context_.writer.fault()) {   // a fault is said by the runner, once
    try {
      bytes_ = context_.checkpoints.save(label_, trainer.state());
      ++saved_;
    } catch (const std::bad_alloc&) {
      warn("there is no memory for a checkpoint");
    } catch (const std::exception& error) {
      warn(error.what());
    }
  }
  last_ = Clock::now();
  seconds_ += std::chrono::duration<double>(last_ - begin).count();
}

void Checkpointer::warn(const std::string& text) {
  if (warned_) return;
  warned_ = true;
  faults_.guard("progress", [&] { context_.watcher.warning(fmt::format("{}; training goes on, the last checkpoint stays", text)); });
}

void Checkpointer::record() const {
  if (saved_ == 0 && !warned_) return;
  reports::CompletenessRecord record;
  record.run = label_.run;
  record.kind = "note";
  record.subject = "checkpoints";
  record.count = saved_;
  record.seconds = seconds_;
  record.provenance = reports::Provenance::measured;
  record.detail = fmt::format("written{}{}", bytes_ > 0 ? fmt::format(", the last one of {} bytes", bytes_) : "", warned_ ? "; some could not be" : "");
  context_.writer.push(record);
}

SingleRun::SingleRun(const RunContext& context, const RunInfo& run, const PastRun* past, CheckpointLabel label)
    : context_(context),
      run_(run),
      past_(past),
      sink_([&context](reports::Record record) { context.writer.push(std::move(record)); }),
      checkpointer_(context, std::move(label), faults_) {}

RunEnd SingleRun::run(const engine::TrainerSetup& setup, RecordedPlan& plan) {
  record_.id = run_.id;
  record_.mode = run_.mode.name;
  record_.seed = static_cast<std::int64_t>(run_.seed);
  record_.started = past_ != nullptr ? past_->record.started : utc_now();
  faults_.guard("progress", [&] { context_.watcher.run_begin(run_); });
  const NvtxRange range(nvtx::Category::run, fmt::format("{}, seed {}", run_.mode.name, run_.seed));
  RunEnd end;
  try {
    end = train(setup, plan);
  } catch (const OutOfMemory& error) {
    end = out_of_memory(plan, error.what());
  } catch (const std::bad_alloc&) {
    end = out_of_memory(plan, "the host has no memory left");
  } catch (const std::exception& error) {
    end = {RunStatus::failed, error.what()};
    broke_off_ = true;
  }
  if (context_.gpu != nullptr) context_.gpu->end_run();
  record_.status = end.status;
  record_.message = end.message;
  record_.ended = utc_now();
  add_kernel_choices(record_, context_.device);
  faults_.guard("runner", [&] { sink_(record_); });
  if (end.status != RunStatus::interrupted && !broke_off_) {
    context_.writer.flush();   // the end is written down before the checkpoint goes
    if (!context_.writer.fault()) context_.checkpoints.remove(run_.id);
  }
  faults_.guard("progress", [&] { context_.watcher.run_end(run_, end.status, end.message); });
  return end;
}

/// The trainer is gone, and its memory free again.
RunEnd SingleRun::out_of_memory(const RecordedPlan& plan, const std::string& words) {
  broke_off_ = true;
  faults_.guard("memory shortage", [&] {
    const std::int64_t free = context_.device.free_bytes().value_or(free_memory_bytes());
    shortage_ = memory_shortage(context_.device, context_.experiment, run_.mode, plan.plan, free,
                                [](const engine::StepPlan& step, const engine::TrainConfig&) { return step_bytes(step); });
  });
  return {RunStatus::failed, fmt::format("out of memory ({}){}", words, shortage_ ? ": " + shortage_line(*shortage_) : "")};
}

RunEnd SingleRun::train(const engine::TrainerSetup& setup, RecordedPlan& plan) {
  // From the plan, before the trainer is made: if there is no memory for it, the run file says of what.
  const std::string started = record_.started;
  record_ = run_record(context_.experiment, run_, context_.device, context_.dataset, plan.plan);
  record_.machine = context_.machine;
  record_.plan = plan.id;
  record_.started = started;
  sink_(record_);
  faults_.guard("plan", [&] {
    if (!plan.recorded) record_plan(plan.plan, plan.id, sink_);
    plan.recorded = true;
  });
  MemoryLedger ledger(context_.device, sink_, faults_, run_.id);
  ledger.record_prediction(plan.plan.memory.peak_by_category);
  engine::Topics topics;
  engine::Trainer trainer(context_.device, context_.dataset, setup, topics);

  Recorder recorder(topics, sink_, faults_, run_.id, run_.loss_scaling);
  if (past_ != nullptr && past_->state) {
    trainer.restore(*past_->state);
    recorder.resume(past_->watch);
    checkpointer_.resume(past_->counts.checkpoints, past_->counts.checkpoint_seconds);
  }
  TensorProbe probe(topics, trainer.plan().graph, sink_, faults_, run_.id);
  std::unique_ptr<Shadow> shadow;
  if (context_.experiment.observe.shadow && Shadow::of_use(trainer.plan())) {
    shadow = std::make_unique<Shadow>(trainer, context_.device, context_.dataset, setup, sink_, faults_, run_.id);
    probe.compare_with([&shadow](const engine::TensorEvent& event) { return shadow->error(event); });
  }
  SumsProbe sums(topics, trainer, sampled_units(context_.experiment.observe), context_.experiment.observe.sums_share, faults_);
  std::optional<RangeProbe> ranges;
  if (context_.experiment.observe.ranges)
    ranges.emplace(topics, trainer.plan().graph, trainer.plan().loss, sink_, faults_, run_.id);
  if (past_ != nullptr) {
    const PastCounts& before = past_->counts;
    probe.resume(before.observed, before.replays, before.rows);
    if (shadow != nullptr) shadow->resume(before.shadow);
    if (ranges) ranges->resume(before.ranges);
  }
  ReplayPolicy replays = past_ != nullptr ? past_->replays : ReplayPolicy{};
  const NvtxRange range(nvtx::Category::phase, "training");
  const NvtxRanges ranges_of_steps(topics, trainer.plan().graph);
  NodeClock clock(topics, faults_, trainer.plan().graph.node_count(), run_.steps > 1 ? 1 : 0);
  const std::int64_t first_step = trainer.iteration();
  RunTrace trace(context_.device, topics, faults_, sink_, run_.id, first_step, run_.steps);
  engine::Observation looks = observation(context_.experiment.observe, replays);
  if (looks.replay) {   // nothing is counted in what is run again, and its memory is wanted
    looks.replay = [&trace, wanted = std::move(looks.replay)](const engine::StepResult& result) {
      const bool again = wanted(result);
      if (again) trace.before_replay();
      return again;
    };
  }
  trainer.observe(std::move(looks));
  const NodeEvents events(context_.device, topics, faults_, trainer.plan().graph.node_count(), trace_window(first_step, run_.steps).first + 1, clock_every,
                          [&trace] { return trace.refused(); });
  const Clock::time_point begin = Clock::now();
  if (context_.gpu != nullptr) context_.gpu->begin_run(run_.id, first_step);
  const RunEnd end = steps(trainer, recorder, begin);
  if (end.status != RunStatus::interrupted) keep_weights(trainer);
  cost_ = {seconds_since(begin), recorder.own_seconds(), clock.own_seconds(), recorder.steps(), clock.sampled_steps(), first_step};

  std::map<std::string, std::int64_t> bytes = trainer.memory_by_category();
  if (shadow != nullptr) bytes["observation"] += shadow->device_bytes();
  ledger.record_peak(bytes);
  peak_bytes_ = ledger.peak_bytes();
  faults_.guard("kernel trace", [&] { trace.record(begin, context_.experiment.observe.ranges); });
  faults_.guard("node clock", [&] {
    const reports::Provenance provenance = time_provenance(context_.device, run_.mode);
    if (trace.of_gpu() && !trace.refused()) return;
    for (auto& timing : trace.of_gpu() ? events.timings(run_.id, provenance) : clock.timings(run_.id, provenance)) sink_(timing);
  });
  faults_.guard("completeness", [&] {
    record_completeness(sink_, run_.id, faults_, cost_);
    add_sampled_sums(record_, sums.json());
    probe.record();
    if (ranges) ranges->record();
    if (shadow != nullptr) shadow->record();
    checkpointer_.record();
  });
  return end;
}

void SingleRun::keep_weights(const engine::Trainer& trainer) {
  if (!context_.experiment.run.save_weights) return;
  const KeptWeights kept(context_.writer.path());
  reports::CompletenessRecord record{.run = run_.id, .kind = "note", .subject = "weights"};
  try {
    record.count = kept.save(checkpointer_.label(), record_.started, trainer.state());
    record.detail = fmt::format("bytes, kept in {}", kept.path(run_.mode.name, static_cast<std::int64_t>(run_.seed)));
  } catch (const std::exception& error) {   // std::bad_alloc too
    weights_lost_ = true;
    record.kind = "lost";
    record.detail = fmt::format("could not be kept: {}", error.what());
    faults_.guard("progress", [&] { context_.watcher.warning(fmt::format("the weights of {} could not be kept: {}", run_.mode.name, error.what())); });
  }
  faults_.guard("completeness", [&] { sink_(record); });
}

RunEnd SingleRun::interrupted(const engine::Trainer& trainer) {
  checkpointer_.save(trainer);
  return {RunStatus::interrupted, "Ctrl-C or a signal to end"};
}

RunEnd SingleRun::steps(engine::Trainer& trainer, const Recorder& recorder, Clock::time_point begin) {
  // A checkpoint may lie between a step and the evaluation after it: that is made again, to the same number.
  if (trainer.iteration() > 0 && evaluation_due(trainer.iteration()) && !evaluate(trainer, trainer.iteration()))
    return interrupted(trainer);
  while (trainer.iteration() < run_.steps) {
    if (context_.gpu != nullptr) context_.gpu->step(trainer.iteration());
    const engine::StepResult result = trainer.step();
    faults_.guard("progress", [&] { context_.watcher.step(run_, result, seconds_since(begin)); });
    if (result.stopped && result.scale_event == scaling::ScaleEvent::gave_up) {
      return {RunStatus::failed, fmt::format("step {} overflowed at the loss scale {:g}, the lowest of the policy {}",
                                             result.iteration + 1, result.loss_scale,
                                             scaling::name(context_.experiment.train.scaler))};
    }
    if (result.stopped) {
      return {RunStatus::failed, fmt::format("a gradient is not finite in step {}, and {} has no loss scaler "
                                             "(train.non_finite = \"stop\")",
                                             result.iteration + 1, run_.mode.name)};
    }
    if (context_.stop()) return interrupted(trainer);
    if (evaluation_due(trainer.iteration()) && !evaluate(trainer, trainer.iteration())) return interrupted(trainer);
    if (trainer.iteration() < run_.steps) checkpointer_.save_if_due(trainer);
  }
  if (const auto step = recorder.diverged_at())
    return {RunStatus::finished, fmt::format("diverged at step {}", *step + 1)};
  return {};
}

bool SingleRun::evaluation_due(std::int64_t steps_done) const {
  const std::int64_t every = context_.experiment.train.evaluate_every;
  return steps_done == run_.steps || (every > 0 && steps_done % every == 0);
}

bool SingleRun::evaluate(engine::Trainer& trainer, std::int64_t steps_done) {
  const NvtxRange range(nvtx::Category::phase, "evaluation");
  const Clock::time_point begin = Clock::now();
  const engine::Trainer::Evaluation evaluation = trainer.evaluate(context_.stop);
  if (evaluation.stopped) return false;
  if (!evaluation.available) return true;
  reports::EvaluationRecord record;
  record.run = run_.id;
  record.step = steps_done;
  record.loss = evaluation.loss;
  record.tokens = evaluation.batches * trainer.evaluation_plan().tokens;
  record.wall_seconds = seconds_since(begin);
  faults_.guard("recorder", [&] { sink_(record); });
  faults_.guard("progress", [&] { context_.watcher.evaluated(run_, evaluation); });
  return true;
}

}  // namespace ulpscope::profiler
