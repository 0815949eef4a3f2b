// One run of a program's launches, which several threads carry out together.
#pragma once

#include "runtime/hal/cpu/Image.h"

#include <atomic>
#include <span>
#include <vector>

namespace heddle::hal::cpu {

// One launch. The first part is set before a run and only read during it.
struct alignas(64) LaunchTask {
  ImageEntry entry = nullptr;
  const uint64_t *bindings = nullptr;   // addresses of the arguments
  std::span<const uint32_t> after = {}; // earlier tasks that must be done before this one begins
  uint32_t grid[3] = {};
  uint32_t total = 0;   // workgroups; 1 where there are none, so that a thread waits for what the task follows
  bool isEmpty = false; // there are none
  float cost = 0;       // of a workgroup, in microseconds, by the run before; 0: not known
  bool isShort = false; // not worth a second thread

  alignas(64) std::atomic<uint32_t> next = 0; // the first workgroup that no thread has taken
  std::atomic<uint32_t> done = 0;             // workgroups
  std::atomic<uint64_t> spent = 0;            // time of all threads in the kernel, in ticks (Ticks.h)

  // Makes the task ready for a run on a grid.
  void reset(uint32_t x, uint32_t y, uint32_t z);
  bool isDone() const { return done.load(std::memory_order_acquire) == total; }
};

// Begin and end of a launch, in nanoseconds of a steady clock.
struct TaskTime {
  uint64_t begin = 0, end = 0;
};

// Every thread walks the tasks in order, takes workgroups of each in chunks while there are some, and waits for what a
// task must follow before it takes the first. A thread takes all of a task that is shorter than a microsecond by the
// costs that earlier runs measured. Two tasks overlap if neither waits for the other. A task only waits for
// earlier ones, whose workgroups other threads have all taken by then, so no walk stands still for ever. Which thread
// runs which workgroup changes no result.
struct LaunchRun {
  std::span<LaunchTask> tasks;
  unsigned threads = 1;            // that may take part, numbered from 0; 0 is the caller
  std::byte *scratch = nullptr;    // of all threads
  uint64_t scratchStride = 0;      // of one, in bytes
  std::atomic<uint32_t> front = 0; // all workgroups of the tasks before are taken

  // Takes part. Returns when all workgroups are taken, though other threads may still run some.
  // With `crowded`, threads are more than processors, and waiting gives the processor away at once.
  void work(unsigned thread, bool crowded);
  // The caller's part of a run whose tasks each follow the one before: times each.
  void workTimed(std::span<TaskTime> times, bool crowded);
  // Returns when all workgroups have run.
  void waitForAll(bool crowded) const;

private:
  void workOn(LaunchTask &task, unsigned thread, bool crowded);
};

} // namespace heddle::hal::cpu
