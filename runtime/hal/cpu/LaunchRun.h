// A run of a program's launches by several threads.
#pragma once

#include "runtime/hal/cpu/Image.h"

#include <atomic>
#include <span>
#include <vector>

namespace heddle::hal::cpu {

// A launch. The fields before `next` are set before a run and only read during it.
struct alignas(64) LaunchTask {
  ImageEntry entry = nullptr;
  const uint64_t *bindings = nullptr;   // addresses of the arguments
  std::span<const uint32_t> after = {}; // earlier tasks that must be done before this one begins
  uint32_t grid[3] = {};
  uint32_t total = 0;   // number of workgroups; 1 if the task is empty, so that a thread still waits for `after`
  bool isEmpty = false; // the task has no workgroups
  float cost = 0;       // microseconds per workgroup, measured in the previous run; 0: unknown
  bool isShort = false; // not worth a second thread

  alignas(64) std::atomic<uint32_t> next = 0; // the first workgroup that no thread has taken
  std::atomic<uint32_t> done = 0;             // number of finished workgroups
  std::atomic<uint64_t> spent = 0;            // time of all threads in the kernel, in ticks (Ticks.h)

  // Prepares the task for a run with these workgroup counts.
  void reset(uint32_t x, uint32_t y, uint32_t z);
  bool isDone() const { return done.load(std::memory_order_acquire) == total; }
};

// Begin and end of a launch, in nanoseconds of a steady clock.
struct TaskTime {
  uint64_t begin = 0, end = 0;
};

// Every thread walks the tasks in order. It waits for the tasks that a task must follow, and then takes chunks of its
// workgroups until none are left. If a task took less than a microsecond in earlier runs, a single thread takes all of
// it. Two tasks overlap if neither waits for the other. There is no deadlock: a task waits only for earlier tasks,
// whose workgroups are all taken by then. Results do not depend on which thread runs which workgroup.
struct LaunchRun {
  std::span<LaunchTask> tasks;
  unsigned threads = 1;            // the most threads that take part; thread 0 is the caller
  std::byte *scratch = nullptr;    // of all threads: for each, kLaunchBytes and then what kernels get
  uint64_t scratchStride = 0;      // bytes per thread
  std::atomic<uint32_t> front = 0; // all workgroups of tasks before this one are taken

  // Takes part in the run. Returns when all workgroups are taken; other threads may still be running some. `crowded`
  // means that there are more threads than processors, so that waiting threads yield at once.
  void work(unsigned thread, bool crowded);
  // The caller's part of a timed run, in which each task follows the one before. Fills in `times`.
  void workTimed(std::span<TaskTime> times, bool crowded);
  // Returns when all workgroups have run.
  void waitForAll(bool crowded) const;

private:
  void workOn(LaunchTask &task, unsigned thread, bool crowded);
};

} // namespace heddle::hal::cpu
