// What a step may not do: a committed or skipped step allocates nothing, and those who listen to it allocate nothing and
// make no system call.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <thread>

#include "engine/models/models.h"
#include "engine/train/trainer.h"
#include "profiler/probes/range_probe.h"
#include "profiler/probes/recorder.h"
#include "profiler/trace/node_clock.h"
#include "reports/run_file/record_queue.h"
#include "reports/run_file/writer.h"
#include "tests/profiler/allocations.h"
#include "tests/reports/in_child.h"
#include "tests/reports/scratch.h"

namespace ulpscope::profiler {
namespace {

using test::Allocations;

constexpr int warm_up_steps = 2;
constexpr int counted_steps = 12;

struct Case {
  const char* mode;
  int threads;
  bool recorded;
  int micro_batches = 1;
  const char* model = "gpt";
  bool ranges = false;
};

/// A text model of some width: several threads have something to do.
engine::GptConfig small_gpt() {
  engine::GptConfig model;
  model.context = 32;
  model.width = 48;
  model.layers = 2;
  model.heads = 2;
  return model;
}

/// The other models, as small.
engine::ModelConfig small_model(const std::string& name) {
  if (name == "llama") return engine::LlamaConfig{.context = 32, .width = 48, .layers = 2, .heads = 4, .kv_heads = 2, .hidden = 64, .dropout = 0.1};
  if (name == "encoder") return engine::EncoderConfig{.context = 32, .width = 48, .layers = 2};
  if (name == "cnn") return engine::CnnConfig{.shape = {1, 16, 16}, .channels = 8};
  return small_gpt();
}

std::unique_ptr<engine::Dataset> data_for(const engine::ModelConfig& model) {
  const std::string examples = ULPSCOPE_SOURCE_DIR "/examples/";
  if (std::holds_alternative<engine::CnnConfig>(model))
    return engine::load_arrays(examples + "shapes.idx.gz", examples + "shapes_labels.idx.gz", {0.1, 1.0 / 256, 0.0});
  return engine::load_text({ULPSCOPE_SOURCE_DIR "/LICENSE"}, engine::text_options(model, 0.1));
}

/// The loss scale jumps out of range after every third good step and comes back: skips, events of every kind.
scaling::PytorchScaler restless_scaler() {
  scaling::PytorchScaler scaler;
  scaler.growth_interval = 3;
  scaler.growth_factor = 1e12;
  scaler.backoff_factor = 1e-12;
  return scaler;
}

class Steps : public ::testing::TestWithParam<Case> {};

TEST_P(Steps, AllocateNothing) {
  if (!test::counts_allocations()) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const std::unique_ptr<Device> device = make_cpu_device({.threads = GetParam().threads, .instruction_set = {}});
  const engine::ModelConfig model = small_model(GetParam().model);
  const auto data = data_for(model);
  engine::TrainConfig config;
  config.batch = 4;
  config.micro_batches = GetParam().micro_batches;
  if (std::string(GetParam().mode) == "fp16") config.scaler = restless_scaler();
  if (engine::find_mode(GetParam().mode).pure) config.optimizer.epsilon = 1e-3;   // 1e-8 is 0 in fp16

  engine::Topics topics;
  Faults faults;
  reports::RecordQueue queue(1000);  // what a run file's writer hands its records to
  const Sink sink = [&queue](reports::Record record) { queue.push(std::move(record)); };
  engine::Trainer trainer(*device, *data, {model, engine::find_mode(GetParam().mode), config, 0}, topics);
  std::optional<Recorder> recorder;
  std::optional<NodeClock> clock;
  std::optional<RangeProbe> ranges;
  if (GetParam().ranges) {
    ranges.emplace(topics, trainer.plan().graph, trainer.plan().loss, sink, faults, reports::RunId{1});
    trainer.observe(engine::Observation{.nodes = {}, .steps = {}, .replay = {}, .ranges = true});
  }
  if (GetParam().recorded) {
    recorder.emplace(topics, sink, faults, reports::RunId{1}, true);
    clock.emplace(topics, faults, trainer.plan().graph.node_count(), 1, 2);
  }
  for (int i = 0; i < warm_up_steps; ++i) trainer.step();

  int skipped = 0;
  std::int64_t count = 0;
  {
    const Allocations allocations;
    for (int i = 0; i < counted_steps; ++i) skipped += trainer.step().skipped ? 1 : 0;
    count = allocations.count();
  }
  EXPECT_EQ(count, 0);
  EXPECT_EQ(faults.count(), 0) << faults.first();
  if (std::string(GetParam().mode) == "fp16") {
    EXPECT_GT(skipped, 0);
    EXPECT_LT(skipped, counted_steps);
  }
  if (ranges) {
    EXPECT_EQ(ranges->steps(), warm_up_steps + counted_steps);
  }
  if (recorder) {
    EXPECT_EQ(recorder->steps(), warm_up_steps + counted_steps);
    EXPECT_GT(clock->sampled_steps(), counted_steps / 2 - 1);
    const auto batch = queue.take(std::chrono::seconds(0));
    EXPECT_GE(batch.essential.size(), static_cast<std::size_t>(warm_up_steps + counted_steps + 3 * skipped));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Steps,
                         ::testing::Values(Case{"fp32", 1, false}, Case{"fp32", 2, false}, Case{"fp32", 2, true},
                                           Case{"fp32", 4, true}, Case{"fp16", 1, true}, Case{"fp16", 2, false},
                                           Case{"fp16", 2, true}, Case{"fp16", 4, true}, Case{"bf16", 2, true},
                                           Case{"tf32", 2, true}, Case{"fp32", 2, true, 3}, Case{"fp16", 2, true, 3},
                                           Case{"bf16_pure", 2, true, 2}, Case{"fp16", 2, true, 1, "llama"},
                                           Case{"fp16", 2, true, 1, "encoder"}, Case{"fp16", 2, true, 1, "cnn"},
                                           Case{"fp32", 2, true, 1, "cnn"}, Case{"fp16", 2, true, 1, "gpt", true},
                                           Case{"bf16", 2, true, 2, "gpt", true}, Case{"fp16", 1, false, 1, "cnn", true},
                                           Case{"fp16", 2, true, 1, "encoder", true}),
                         [](const auto& test) {
                           return std::string(test.param.mode) + "_" + std::to_string(test.param.threads) +
                                  (test.param.recorded ? "_recorded" : "") +
                                  (test.param.micro_batches > 1 ? "_micro_batches" : "") +
                                  (std::string(test.param.model) == "gpt" ? "" : std::string("_") + test.param.model) +
                                  (test.param.ranges ? "_ranges" : "");
                         });

/// What the child of SystemCalls tells its parent.
struct Seen {
  std::atomic<int> count;
  std::atomic<int> first;  ///< number of the first call
  std::atomic<bool> filtered;
  std::atomic<std::int64_t> allocations;
};
Seen* seen = nullptr;

void on_system_call(int, siginfo_t* info, void*) {
  if (seen->count.fetch_add(1) == 0) seen->first = info->si_syscall;
}

/// From here on every system call of this thread, but those to end it, ends in on_system_call instead. Clocks are let
/// through: where the vDSO cannot read the time, the C library asks the kernel.
bool trap_system_calls() {
  struct sigaction action {};
  action.sa_sigaction = on_system_call;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof program[0], program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Steps as an engine announces them, with everything that can happen in one.
void announce_steps(engine::Topics& topics, std::int64_t first, std::int64_t count) {
  constexpr std::int32_t nodes = 50;
  for (std::int64_t i = first; i < first + count; ++i) {
    topics.step_begin.publish({i});
    for (std::int32_t n = 0; n < nodes; ++n) {
      topics.node_begin.publish({engine::NodeId{n}, i});
      topics.node_end.publish({engine::NodeId{n}, i});
    }
    engine::StepResult result;
    result.iteration = i;
    result.loss = i < 20 ? 1.0f : 10.0f;  // it runs away
    if (i % 5 == 3) {
      result.finite = false;
      result.skipped = true;
      result.loss_scale = 4.0f;
      result.next_loss_scale = 2.0f;
    }
    topics.step_end.publish(result);
  }
}

class Listeners : public reports::Scratch {};

TEST_F(Listeners, MakeNoSystemCallAndAllocateNothing) {
  if (!test::counts_allocations()) GTEST_SKIP() << "a sanitizer makes system calls of its own";
  void* shared = mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  seen = new (shared) Seen{};
  const int status = reports::in_child([&] {
    engine::Topics topics;
    Faults faults;
    // More than half of the queue fills up, and its thread sleeps and writes meanwhile.
    reports::RunFileWriter writer(in("a.ulp"), {.queue_capacity = 4000, .commit_seconds = 0.5});
    const Sink sink = [&writer](reports::Record record) { writer.push(std::move(record)); };
    const Recorder recorder(topics, sink, faults, reports::RunId{1}, true);
    const NodeClock clock(topics, faults, 50, 1, 2);
    announce_steps(topics, 0, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the writer's thread sleeps: waking it is a call
    if (!trap_system_calls()) _exit(77);
    {
      const Allocations allocations(Allocations::Of::this_thread);
      announce_steps(topics, 2, 1500);
      seen->allocations = allocations.count();
    }
    seen->filtered = true;
    _exit(faults.count() == 0 && recorder.steps() == 1502 ? 0 : 98);
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(seen->filtered);
  EXPECT_EQ(seen->count, 0) << "the first was number " << seen->first;
  EXPECT_EQ(seen->allocations, 0);
  munmap(shared, sizeof(Seen));
}

}  // namespace
}  // namespace ulpscope::profiler
