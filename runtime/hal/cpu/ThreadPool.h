// The threads that run kernels: one pool for the process, made on first use.
#pragma once

#include "runtime/hal/cpu/LaunchRun.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace heddle::hal::cpu {

// The caller of a run is one of the pool's threads. The others wait for work: for about 50 microseconds awake, then
// asleep. They block all signals. At the end of the process they are left as they are. After a fork the child has none
// of them and makes a pool of its own when it needs one.
class ThreadPool {
public:
  // The process's pool. Its threads are threadCount() when it is made, or as many as the system gives. Throws
  // std::bad_alloc, and then the next call tries again.
  static ThreadPool &get();

  // Starts `threads - 1` workers, or as many as the system gives. For tests; a pool lives until the process ends.
  static ThreadPool &create(unsigned threads);

  // The number of threads that run kernels, the caller included.
  unsigned threads() const { return threadCount; }

  // Carries out a run and returns when it is done. `times` are empty, or one for each task, each of which must then
  // follow the task before. Several threads may call this: one of them gets the workers, and the others run their
  // programs without help. Throws nothing. The caller has set its floating-point state (FloatMode.h); the workers have
  // set theirs.
  void run(LaunchRun &run, std::span<TaskTime> times = {});

private:
  struct Worker {
    ThreadPool *pool = nullptr;
    unsigned number = 0;
  };

  explicit ThreadPool(unsigned threads);
  static void *main(void *worker);
  void serve(unsigned thread);

  unsigned threadCount = 1;
  bool crowded = false; // more threads than processors
  std::unique_ptr<Worker[]> workers;
  std::mutex owner; // of the workers
  alignas(64) std::atomic<LaunchRun *> current = nullptr;
  alignas(64) std::atomic<uint32_t> generation = 0; // of `current`
  alignas(64) std::atomic<uint32_t> attached = 0;   // workers that may be looking at `current`
};

} // namespace heddle::hal::cpu
