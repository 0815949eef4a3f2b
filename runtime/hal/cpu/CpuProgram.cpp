#include "runtime/hal/cpu/CpuDevice.h"

#include "runtime/hal/cpu/FloatMode.h"
#include "runtime/hal/cpu/ThreadPool.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace heddle::hal::cpu {

// Records the tasks that each task must follow: its launch's own list, if all launches have one, or else the tasks
// between the last two barriers, which themselves follow all earlier tasks. Timed launches run one after the other.
void CpuProgram::recordOrder(std::span<const Launch> launches) {
  bool named = std::ranges::all_of(launches, [](const Launch &launch) { return launch.after.has_value(); });
  std::vector<std::pair<size_t, size_t>> ranges; // of `order`, by task
  std::pair<uint32_t, uint32_t> waited;          // the tasks between the last two barriers
  size_t shared = 0;                             // their index in `order`
  for (uint32_t i = 0; i < launches.size(); ++i) {
    size_t begin = order.size();
    if (timed) {
      if (i)
        order.push_back(i - 1);
    } else if (named) {
      order.insert(order.end(), launches[i].after->begin(), launches[i].after->end());
    } else {
      if (launches[i].barrier && i) {
        waited = {waited.second, i};
        for (uint32_t earlier = waited.first; earlier < waited.second; ++earlier)
          order.push_back(earlier);
        shared = begin;
      }
      begin = shared;
    }
    ranges.emplace_back(begin, timed || named ? order.size() : shared + waited.second - waited.first);
  }
  for (size_t i = 0; i < launches.size(); ++i)
    tasks[i].after = std::span(order).subspan(ranges[i].first, ranges[i].second - ranges[i].first);
}

Status CpuProgram::record(std::span<const Launch> launches, uint32_t countCount, bool isTimed) {
  timed = isTimed;
  taskCount = launches.size();
  tasks = std::make_unique<LaunchTask[]>(taskCount);
  counts.reserve(taskCount);
  uint64_t scratchBytes = 0;
  size_t arguments = 0;
  for (const Launch &launch : launches)
    arguments += launch.arguments.size();
  addresses.reserve(arguments); // tasks point into it
  for (size_t i = 0; i < taskCount; ++i) {
    const Launch &launch = launches[i];
    const auto &kernel = static_cast<const CpuKernel &>(*launch.kernel);
    assert(launch.count < countCount);
    tasks[i].entry = kernel.entry;
    tasks[i].bindings = addresses.data() + addresses.size();
    for (const Argument &argument : launch.arguments)
      addresses.push_back(argument.buffer->address() + argument.offset);
    counts.push_back(launch.count);
    scratchBytes = std::max<uint64_t>(scratchBytes, kernel.scratchBytes);
  }
  (void)countCount;
  recordOrder(launches);
  if (timed)
    taskTimes.resize(taskCount);
  return scratch.reserve(ThreadPool::get().threads(), scratchBytes);
}

Status CpuProgram::submit(std::span<const Upload> uploads, std::span<const WorkgroupCount> workgroups) {
  for (size_t i = 0; i < taskCount; ++i) {
    WorkgroupCount count = workgroups[counts[i]];
    uint64_t plane = count.z ? uint64_t(count.x) * count.y : 0;
    if (plane > UINT32_MAX || plane * count.z > UINT32_MAX)
      return makeError(ErrorKind::Unsupported, "a kernel needs ", count.x, " x ", count.y, " x ", count.z,
                       " workgroups, and '", device.name, "' runs ", UINT32_MAX, " at most. Use smaller inputs.");
    tasks[i].reset(count.x, count.y, count.z);
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
  for (const TaskTime &time : taskTimes)
    times.push_back({time.begin, time.end});
  return times;
}

} // namespace heddle::hal::cpu
