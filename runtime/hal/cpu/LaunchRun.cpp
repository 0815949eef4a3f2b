#include "runtime/hal/cpu/LaunchRun.h"

#include "runtime/hal/cpu/Waiting.h"

#include <algorithm>
#include <chrono>

namespace heddle::hal::cpu {
namespace {

uint64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Takes workgroups of a task: many at first, and fewer towards the end, so that the threads finish together. Returns
// their number; `first` is the first of them.
uint32_t take(LaunchTask &task, unsigned threads, uint32_t &first) {
  uint32_t next = task.next.load(std::memory_order_relaxed);
  while (next < task.total) {
    uint32_t left = task.total - next;
    uint32_t count = threads == 1 ? left : std::max<uint32_t>(1, left / (2 * threads));
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
  uint32_t first = 0;
  while (uint32_t count = take(task, threads, first)) {
    task.entry(task.bindings, task.grid, first, count, scratch + thread * scratchStride);
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
