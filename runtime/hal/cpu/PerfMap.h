// Tells the profiler perf which kernel an address belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::hal::cpu {

// Machine code in memory.
struct MappedKernel {
  std::string_view name;
  uint64_t address = 0, bytes = 0;
};

// Adds the kernels to /tmp/perf-PID.map, where perf looks for the symbols of generated code, if HEDDLE_PERF_MAP=1 is in
// the environment. The first call of a process replaces a file that an earlier process left there. Kernels stay in the
// file when they are unloaded. After a fork, the child's file lacks the kernels that were loaded before the fork. Logs a
// warning if the file cannot be written. Several threads may call it.
void addToPerfMap(std::span<const MappedKernel> kernels);

} // namespace heddle::hal::cpu
