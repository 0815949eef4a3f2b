// A run of a program's launches by several threads.
#pragma once

#include "runtime/hal/cpu/Image.h"

#include <array>
#include <atomic>
#include <span>
#include <vector>

namespace heddle::hal::cpu {

// A launch with workgroups. The fields before `taken` are set before a run and only read during it. Each thread has a
// share of the workgroups: neighbours, the same ones in every launch with as many workgroups. So it reads weights in a
// single run, and finds in its cache what it wrote for the launch before. A thread whose share is empty takes from others.
struct alignas(64) LaunchTask {
  ImageEntry entry = nullptr;
  const uint64_t *bindings = nullptr;   // addresses of the arguments
  std::span<const uint32_t> after = {}; // earlier tasks that must be done before this one begins
  bool followsPrevious = true;          // the task just before this one is among them
  uint32_t grid[3] = {};
  uint32_t total = 0;   // number of workgroups
  uint32_t chunk = 1;   // the fewest workgroups that a thread takes at once, within its share
  float cost = 0;       // microseconds per workgroup, measured in the previous run; 0: unknown
  bool isShort = false; // one thread runs all of it, because sharing it takes longer
  uint32_t owner = 0;   // the thread that runs a short task, modulo the threads that take part

  // Counters that several threads write are in lines of their own. `taken` counts the workgroups of each share that a
  // thread has taken, from its first one on. If there are more threads than shares, several have one together.
  static constexpr unsigned kMostShares = 16;
  alignas(64) std::array<std::atomic<uint32_t>, kMostShares> taken = {};
  alignas(64) std::atomic<uint32_t> done = 0; // number of finished workgroups
  uint32_t measured = 0; // workgroups that the caller's thread has run; of a short task, those of its thread
  uint64_t spent = 0;    // that thread's time in the kernel, in ticks (Ticks.h)

  // Prepares the task for a run with these workgroup counts. `previous`: the task just before this one; null for the
  // first.
  void reset(uint32_t x, uint32_t y, uint32_t z, const LaunchTask *previous = nullptr);
  bool isDone() const { return done.load(std::memory_order_acquire) == total; }
  // Whether a second thread would find work.
  bool isShared() const { return !isShort && total > 1; }
};

// Begin and end of a launch, in nanoseconds of a steady clock.
struct TaskTime {
  uint64_t begin = 0, end = 0;
};

// Every thread walks the tasks in order. It takes a chunk of its share of a task's workgroups, waits for the tasks that
// this task must follow, runs the chunk, and takes further chunks, at last those of other shares, until none are left.
// If a task took less than a microsecond in the previous run, a single thread runs it: the caller's, or the next one if
// the task before is short too and need not be waited for. A thread that has to wait for a short task runs it itself, if
// its owner has not begun. Two tasks overlap if neither waits for the other. There is no deadlock: a thread that has
// workgroups of a task waits only for earlier tasks. Results do not depend on which thread runs which workgroup.
struct LaunchRun {
  std::span<LaunchTask> tasks;
  unsigned threads = 1;         // the most threads that take part; thread 0 is the caller
  std::byte *scratch = nullptr; // of all threads: for each, kLaunchBytes and then what kernels get
  uint64_t scratchStride = 0;   // bytes per thread
  // The caller's thread has done its share of the tasks before. It writes this for each task, so not beside what others
  // read.
  alignas(64) std::atomic<uint32_t> front = 0;

  // Takes part in the run. Returns when all workgroups are taken; other threads may still be running some. `crowded`
  // means that there are more threads than processors, so that waiting threads yield at once.
  void work(unsigned thread, bool crowded);
  // The caller's part of a timed run, in which each task follows the one before. Fills in `times`.
  void workTimed(std::span<TaskTime> times, bool crowded);
  // The caller's thread returns when all workgroups have run.
  void waitForAll(bool crowded);

private:
  uint32_t take(LaunchTask &task, unsigned thread, uint32_t &first) const;
  void workOn(LaunchTask &task, unsigned thread, bool crowded);
  void waitFor(LaunchTask &task, unsigned thread, bool crowded);
};

} // namespace heddle::hal::cpu
