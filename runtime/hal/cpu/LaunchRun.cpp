#include "runtime/hal/cpu/LaunchRun.h"

#include "runtime/hal/cpu/Ticks.h"
#include "runtime/hal/cpu/Waiting.h"

#include <algorithm>
#include <chrono>

namespace heddle::hal::cpu {

// A task that takes less time is not shared: sharing costs the second thread's look at it, and cache traffic for counters
// and operands. Smaller chunks are not worth a look at the counter.
static constexpr float kShortTask = 1, kShortChunk = 4; // microseconds

void LaunchTask::reset(uint32_t x, uint32_t y, uint32_t z, const LaunchTask *previous) {
  if (measured && spent)
    cost = microseconds(spent) / static_cast<float>(measured);
  measured = 0, spent = 0;
  grid[0] = x, grid[1] = y, grid[2] = z;
  total = x * y * z;
  isShort = cost > 0 && cost * static_cast<float>(total) < kShortTask;
  owner = previous && previous->isShort && !followsPrevious ? previous->owner + 1 : 0;
  chunk = cost > 0 ? std::max(1u, static_cast<uint32_t>(std::min(kShortChunk / cost, 1e6f))) : 1;
  for (std::atomic<uint32_t> &count : taken)
    count.store(0, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
}

namespace {

uint64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

} // namespace

// Takes workgroups for a thread, of its own share if any are left: large chunks at first and smaller ones towards the
// end, so that the threads finish together. Returns their number and sets `first` to the first of them.
uint32_t LaunchRun::take(LaunchTask &task, unsigned thread, uint32_t &first) const {
  const unsigned shares = task.isShort ? 1 : std::min(threads, LaunchTask::kMostShares);
  const unsigned sharers = (threads + shares - 1) / shares;
  const uint32_t equal = task.total / shares, more = task.total % shares; // the first `more` shares have one more
  for (unsigned i = 0, share = thread % shares; i < shares; ++i, share = share + 1 == shares ? 0 : share + 1) {
    std::atomic<uint32_t> &taken = task.taken[share];
    const uint32_t size = equal + (share < more);
    uint32_t old = taken.load(std::memory_order_relaxed);
    while (old < size) {
      uint32_t left = size - old, least = std::min(task.chunk, (size + sharers - 1) / sharers);
      uint32_t count = threads == 1 || task.isShort ? left : std::min(left, std::max(least, left / (2 * sharers)));
      if (taken.compare_exchange_weak(old, old + count, std::memory_order_relaxed)) {
        first = share * equal + std::min(share, more) + old;
        return count;
      }
    }
  }
  return 0;
}

void LaunchRun::waitFor(LaunchTask &task, unsigned thread, bool crowded) {
  if (task.isShort && !task.isDone())
    workOn(task, thread, crowded);
  waitUntil([&] { return task.isDone(); }, crowded);
}

void LaunchRun::workOn(LaunchTask &task, unsigned thread, bool crowded) {
  auto waitForEarlier = [&] {
    for (uint32_t earlier : task.after)
      waitFor(tasks[earlier], thread, crowded);
  };
  // A thread that takes its chunk before it waits begins at once afterwards. With more threads than processors it might
  // not run when it could begin.
  if (crowded && !task.isDone())
    waitForEarlier();
  uint32_t first = 0, count = take(task, thread, first);
  if (count == 0)
    return;
  if (!crowded)
    waitForEarlier();
  std::byte *own = scratch ? scratch + thread * scratchStride : nullptr;
  if (own)
    std::fill_n(own, kLaunchBytes, std::byte(0xff));
  for (; count != 0; count = take(task, thread, first)) {
    uint64_t begin = ticks();
    task.entry(task.bindings, task.grid, first, count, own + (own ? kLaunchBytes : 0));
    if (thread == 0 || task.isShort)
      task.spent += ticks() - begin, task.measured += count;
    task.done.fetch_add(count, std::memory_order_acq_rel);
  }
}

void LaunchRun::work(unsigned thread, bool crowded) {
  for (uint32_t i = front.load(std::memory_order_relaxed); i < tasks.size(); ++i) {
    if (!tasks[i].isShort || tasks[i].owner % threads == thread)
      workOn(tasks[i], thread, crowded);
    if (thread == 0)
      front.store(i + 1, std::memory_order_relaxed);
  }
}

void LaunchRun::workTimed(std::span<TaskTime> times, bool crowded) {
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    times[i].begin = now();
    workOn(tasks[i], 0, crowded);
    waitFor(tasks[i], 0, crowded);
    times[i].end = now();
    front.store(i + 1, std::memory_order_relaxed);
  }
}

void LaunchRun::waitForAll(bool crowded) {
  for (LaunchTask &task : tasks)
    waitFor(task, 0, crowded);
}

} // namespace heddle::hal::cpu
