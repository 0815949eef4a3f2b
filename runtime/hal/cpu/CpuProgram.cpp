#include "runtime/hal/cpu/CpuDevice.h"

#include "runtime/hal/cpu/FloatMode.h"
#include "runtime/hal/cpu/ThreadPool.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace heddle::hal::cpu {

// Records the launches that each launch must follow: its own list, if all launches have one, or else the launches
// between the last two barriers, which themselves follow all earlier launches. Timed launches run one after the other.
void CpuProgram::recordOrder(std::span<const Launch> given) {
  bool named = std::ranges::all_of(given, [](const Launch &launch) { return launch.after.has_value(); });
  std::vector<std::pair<size_t, size_t>> ranges; // of `launchOrder`, by launch
  std::pair<uint32_t, uint32_t> waited;          // the launches between the last two barriers
  size_t shared = 0;                             // their index in `launchOrder`
  for (uint32_t i = 0; i < given.size(); ++i) {
    size_t begin = launchOrder.size();
    if (timed) {
      if (i)
        launchOrder.push_back(i - 1);
    } else if (named) {
      launchOrder.insert(launchOrder.end(), given[i].after->begin(), given[i].after->end());
    } else {
      if (given[i].barrier && i) {
        waited = {waited.second, i};
        for (uint32_t earlier = waited.first; earlier < waited.second; ++earlier)
          launchOrder.push_back(earlier);
        shared = begin;
      }
      begin = shared;
    }
    ranges.emplace_back(begin, timed || named ? launchOrder.size() : shared + waited.second - waited.first);
  }
  for (size_t i = 0; i < given.size(); ++i)
    launches[i].after = std::span(launchOrder).subspan(ranges[i].first, ranges[i].second - ranges[i].first);
}

Status CpuProgram::record(std::span<const Launch> given, uint32_t countCount, bool isTimed) {
  timed = isTimed;
  uint64_t scratchBytes = 0;
  for (const Launch &launch : given) {
    const auto &kernel = static_cast<const CpuKernel &>(*launch.kernel);
    assert(launch.count < countCount);
    launches.push_back({kernel.entry, addresses.size(), launch.count, {}});
    for (const Argument &argument : launch.arguments)
      addresses.push_back(argument.buffer->address() + argument.offset);
    scratchBytes = std::max<uint64_t>(scratchBytes, kernel.scratchBytes);
  }
  (void)countCount;
  recordOrder(given);
  return scratch.reserve(ThreadPool::get().threads(), scratchBytes);
}

// A task follows the tasks of the launches that its launch follows. If such a launch is empty, it follows what that launch
// would follow.
void CpuProgram::makeTasks() {
  std::vector<std::vector<uint32_t>> follows(launches.size()); // tasks, by launch
  std::vector<uint32_t> taskOf(launches.size()), launchOf;
  size_t ordered = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    std::vector<uint32_t> &all = follows[i];
    for (uint32_t earlier : launches[i].after)
      if (launches[earlier].isEmpty)
        all.insert(all.end(), follows[earlier].begin(), follows[earlier].end());
      else
        all.push_back(taskOf[earlier]);
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (launches[i].isEmpty)
      continue;
    taskOf[i] = static_cast<uint32_t>(launchOf.size());
    launchOf.push_back(static_cast<uint32_t>(i));
    ordered += all.size();
  }
  taskCount = launchOf.size();
  tasks = std::make_unique<LaunchTask[]>(taskCount);
  taskOrder.clear();
  taskOrder.reserve(ordered); // tasks point into it
  for (size_t task = 0; task < taskCount; ++task) {
    const Recorded &launch = launches[launchOf[task]];
    std::span<const uint32_t> after(follows[launchOf[task]]);
    size_t begin = taskOrder.size();
    for (uint32_t earlier : after) // but not what another task of the list follows
      if (std::ranges::none_of(
              after, [&](uint32_t other) { return std::ranges::binary_search(follows[launchOf[other]], earlier); }))
        taskOrder.push_back(earlier);
    tasks[task].entry = launch.entry;
    tasks[task].bindings = addresses.data() + launch.address;
    tasks[task].after = std::span(taskOrder).subspan(begin);
    tasks[task].followsPrevious = taskOrder.size() > begin && taskOrder.back() + 1 == task;
  }
  if (timed)
    taskTimes.resize(taskCount);
}

Status CpuProgram::submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> counts) {
  for (const Recorded &launch : launches) {
    WorkgroupCount count = counts[launch.count];
    uint64_t plane = count.z ? uint64_t(count.x) * count.y : 0;
    if (plane > UINT32_MAX || plane * count.z > UINT32_MAX)
      return makeError(ErrorKind::Unsupported, "a kernel needs ", count.x, " x ", count.y, " x ", count.z,
                       " workgroups, and '", device.name, "' runs ", UINT32_MAX, " at most. Use smaller inputs.");
  }
  bool isChanged = !tasks;
  for (Recorded &launch : launches) {
    WorkgroupCount count = counts[launch.count];
    bool isEmpty = count.x == 0 || count.y == 0 || count.z == 0;
    isChanged |= std::exchange(launch.isEmpty, isEmpty) != isEmpty;
  }
  if (isChanged)
    makeTasks();
  LaunchTask *task = nullptr;
  for (const Recorded &launch : launches)
    if (!launch.isEmpty) {
      LaunchTask *previous = std::exchange(task, task ? task + 1 : tasks.get());
      WorkgroupCount count = counts[launch.count];
      task->reset(count.x, count.y, count.z, previous);
    }
  for (const Upload &upload : uploads) {
    assert(upload.offset <= upload.to->bytes() && upload.data.size() <= upload.to->bytes() - upload.offset);
    if (!upload.data.empty())
      std::memcpy(static_cast<CpuBuffer *>(upload.to)->data() + upload.offset, upload.data.data(), upload.data.size());
  }
  ThreadPool &pool = ThreadPool::get(); // after a fork, not the pool that the program was recorded with
  LaunchRun run{std::span(tasks.get(), taskCount), std::min(pool.threads(), scratch.threads), scratch.memory.data(),
                scratch.stride};
  FloatMode mode;
  pool.run(run, taskTimes);
  return Success();
}

Result<std::vector<LaunchTime>> CpuProgram::launchTimes() {
  if (!timed)
    return makeError(ErrorKind::Unsupported, "this program was not recorded with times.");
  std::vector<LaunchTime> times;
  auto task = taskTimes.begin();
  for (const Recorded &launch : launches)
    if (!launch.isEmpty) {
      times.push_back({task->begin, task->end});
      ++task;
    } else { // takes no time after the launch before
      uint64_t end = !times.empty() ? times.back().end : taskTimes.empty() ? 0 : taskTimes.front().begin;
      times.push_back({end, end});
    }
  return times;
}

} // namespace heddle::hal::cpu
