// The threads that run kernels: one pool per process, made on first use.
#pragma once

#include "runtime/hal/cpu/LaunchRun.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace heddle::hal::cpu {

// The caller of a run is one of the pool's threads. The others are workers: they spin for about 50 microseconds,
// waiting for work, and then sleep. They block all signals and run until the process ends. After a fork the child has
// none of them and makes a pool of its own when it needs one.
class ThreadPool {
public:
  // Returns the process's pool. The first call makes it, with threadCount() threads, or as many as the system allows.
  // If that throws std::bad_alloc, the next call tries again.
  static ThreadPool &get();

  // Starts `threads - 1` workers, or as many as the system allows. For tests; a pool lives until the process ends.
  static ThreadPool &create(unsigned threads);

  // The number of threads that run kernels, the caller included.
  unsigned threads() const { return threadCount; }

  // Executes a run and returns when it is done. `times` is empty or has an element for each task; in the second case
  // each task must follow the task before. If several threads call this at once, one of them gets the workers and the
  // others run their programs alone. Does not throw. The caller must have set its floating-point state (FloatMode.h);
  // the workers set their own.
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
  std::mutex owner; // held by the thread that uses the workers
  alignas(64) std::atomic<LaunchRun *> current = nullptr;
  alignas(64) std::atomic<uint32_t> generation = 0; // grows with each run, so that workers notice it
  alignas(64) std::atomic<uint32_t> attached = 0;   // workers that may be using `current`
};

} // namespace heddle::hal::cpu
