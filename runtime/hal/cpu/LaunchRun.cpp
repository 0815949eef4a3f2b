#include "runtime/hal/cpu/LaunchRun.h"

#include "runtime/hal/cpu/Ticks.h"
#include "runtime/hal/cpu/Waiting.h"

#include <algorithm>
#include <chrono>

namespace heddle::hal::cpu {

void LaunchTask::reset(uint32_t x, uint32_t y, uint32_t z) {
  // Sharing a task costs the second thread's look at it, and cache traffic for counters and operands.
  constexpr float kShortTask = 1; // microsecond
  if (uint64_t ticks = spent.exchange(0, std::memory_order_relaxed); total && ticks)
    cost = microseconds(ticks) / static_cast<float>(total);
  grid[0] = x, grid[1] = y, grid[2] = z;
  isEmpty = x == 0 || y == 0 || z == 0;
  total = isEmpty ? 1 : x * y * z;
  isShort = total < 2 || (cost > 0 && cost * static_cast<float>(total) < kShortTask);
  next.store(0, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
}

namespace {

uint64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Takes workgroups of a task: large chunks at first and smaller ones towards the end, so that the threads finish
// together. Returns their number and sets `first` to the first of them.
uint32_t take(LaunchTask &task, unsigned threads, uint32_t &first) {
  uint32_t next = task.next.load(std::memory_order_relaxed);
  while (next < task.total) {
    uint32_t left = task.total - next;
    uint32_t count = threads == 1 || task.isShort ? left : std::max<uint32_t>(1, left / (2 * threads));
    if (task.next.compare_exchange_weak(next, next + count, std::memory_order_relaxed)) {
      first = next;
      return count;
    }
  }
  return 0;
}

} // namespace

void LaunchRun::workOn(LaunchTask &task, unsigned thread, bool crowded) {
  if (task.next.load(std::memory_order_relaxed) >= task.total)
    return;
  for (uint32_t earlier : task.after)
    waitUntil([&] { return tasks[earlier].isDone(); }, crowded);
  std::byte *own = scratch ? scratch + thread * scratchStride : nullptr;
  if (own)
    std::fill_n(own, kLaunchBytes, std::byte(0xff));
  uint32_t first = 0;
  while (uint32_t count = take(task, threads, first)) {
    if (!task.isEmpty) {
      uint64_t begin = ticks();
      task.entry(task.bindings, task.grid, first, count, own + (own ? kLaunchBytes : 0));
      task.spent.fetch_add(ticks() - begin, std::memory_order_relaxed);
    }
    task.done.fetch_add(count, std::memory_order_acq_rel);
  }
}

void LaunchRun::work(unsigned thread, bool crowded) {
  for (uint32_t i = front.load(std::memory_order_relaxed); i < tasks.size(); ++i) {
    workOn(tasks[i], thread, crowded);
    if (thread == 0)
      front.store(i + 1, std::memory_order_relaxed);
  }
}

void LaunchRun::workTimed(std::span<TaskTime> times, bool crowded) {
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    times[i].begin = now();
    workOn(tasks[i], 0, crowded);
    waitUntil([&] { return tasks[i].isDone(); }, crowded);
    times[i].end = now();
    front.store(i + 1, std::memory_order_relaxed);
  }
}

void LaunchRun::waitForAll(bool crowded) const {
  for (const LaunchTask &task : tasks)
    waitUntil([&] { return task.isDone(); }, crowded);
}

} // namespace heddle::hal::cpu
