#include "kernels/cuda/grid.h"

#include <ucontext.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/observation_memory.h"
#include "kernels/error.h"

namespace ulpscope::cuda {

EmulatedPlace emulated_place;
void (*emulated_access)(bool) = nullptr;
EmulatedQueue* emulated_queue = nullptr;
ObservationMemory* emulated_observation = nullptr;

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} << 10;
/// Few, so that grid-stride loops are walked more than once.
constexpr std::int64_t emulated_blocks = 3;

/// The threads of one block, as coroutines that go on from barrier to barrier.
class Team {
 public:
  Team(int threads, std::size_t shared, void (*run)(void*), void* context)
      : run_(run), context_(context), shared_(shared), fibers_(static_cast<std::size_t>(threads)) {
    memory_ = std::make_unique<std::max_align_t[]>(shared / sizeof(std::max_align_t) + 1);
    for (Fiber& fiber : fibers_) fiber.stack = std::make_unique_for_overwrite<unsigned char[]>(stack_bytes);
  }

  void run_block() {
    std::memset(memory_.get(), 0xff, shared_);
    for (Fiber& fiber : fibers_) {
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = stack_bytes;
      fiber.context.uc_link = &back_;
      makecontext(&fiber.context, enter, 0);
      fiber.ended = false;
    }
    for (;;) {
      int waiting = 0, ended = 0;
      for (std::size_t i = 0; i < fibers_.size(); ++i) {
        Fiber& fiber = fibers_[i];
        if (fiber.ended) continue;
        emulated_place.thread = static_cast<int>(i);
        current_ = &fiber;
        swapcontext(&back_, &fiber.context);
        current_ = nullptr;
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        ++(fiber.ended ? ended : waiting);
      }
      if (waiting == 0) return;
      if (ended != 0)
        throw Error("emulated grid: " + std::to_string(ended) + " threads of a block ended where " + std::to_string(waiting) +
                    " wait at a barrier");
    }
  }

  void barrier() { swapcontext(&current_->context, &back_); }
  void* memory() { return memory_.get(); }

  static Team* running;

 private:
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<unsigned char[]> stack;
    bool ended = false;
  };

  static void enter() {
    Team& team = *running;
    Fiber& own = *team.current_;
    try {
      team.run_(team.context_);
    } catch (...) {
      team.error_ = std::current_exception();
    }
    own.ended = true;
  }

  void (*run_)(void*);
  void* context_;
  std::size_t shared_;
  std::vector<Fiber> fibers_;
  std::unique_ptr<std::max_align_t[]> memory_;
  Fiber* current_ = nullptr;
  ucontext_t back_ = {};
  std::exception_ptr error_;
};

Team* Team::running = nullptr;

}  // namespace

void block_barrier() {
  if (Team::running == nullptr) throw Error("emulated grid: a barrier in a kernel that was launched without a team");
  Team::running->barrier();
}

void* block_memory() {
  if (Team::running == nullptr) throw Error("emulated grid: block_memory() in a kernel that was launched without a team");
  return Team::running->memory();
}

void emulate_grid(std::int64_t blocks, int threads, void (*run)(void*), void* context) {
  const EmulatedAccess access;
  emulated_place = {0, threads, 0, blocks};
  for (; emulated_place.block < blocks; ++emulated_place.block)
    for (emulated_place.thread = 0; emulated_place.thread < threads; ++emulated_place.thread) run(context);
}

void emulate_team_grid(std::int64_t blocks, int threads, std::size_t shared, void (*run)(void*), void* context) {
  if (blocks <= 0) return;
  const EmulatedAccess access;
  Team team(threads, shared, run, context);
  struct Running {
    explicit Running(Team* team) { Team::running = team; }
    ~Running() { Team::running = nullptr; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  } const running(&team);
  emulated_place = {0, threads, 0, blocks};
  for (std::int64_t block = 0; block < blocks; ++block) {
    emulated_place.block = block;
    team.run_block();
  }
}

std::int64_t blocks_for(std::int64_t pieces) { return std::clamp<std::int64_t>(pieces, 0, emulated_blocks); }

void* observation_memory(void*, std::size_t bytes) {
  if (emulated_observation != nullptr) {
    void* const of_the_device = emulated_observation->of(bytes);
    fill_memory(of_the_device, 0xff, bytes, nullptr);
    return of_the_device;
  }
  static std::unique_ptr<std::max_align_t[]> memory;
  memory = std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1);
  std::memset(memory.get(), 0xff, bytes);
  return memory.get();
}

}  // namespace ulpscope::cuda
