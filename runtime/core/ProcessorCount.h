// The number of processors that this process may use.
#pragma once

#include <string>

namespace heddle {

// Returns the number of threads that kernels run on: HEDDLE_THREADS (Threads.h) if it is set, otherwise this process's
// part of the physical cores, within its part of the quota. At least 1.
unsigned threadCount();

// Returns the number of physical cores that this thread may run on, limited by the quota. At least 1. `root` is a prefix
// of the paths of /proc and /sys, for tests.
unsigned usableProcessors(const std::string &root = "");

// The CPU time that the control groups of a process allow it.
struct ProcessorQuota {
  unsigned processors = 0; // rounded up; 0 if there is no limit
  // Names the group that sets the limit, on this machine: its processes divide the quota. Containers name their own
  // groups by different words. Empty if there is no limit.
  std::string group = {};
};

// Returns the smallest quota of this process's control groups, of both versions, and of the groups that enclose them.
ProcessorQuota processorQuota(const std::string &root = "");

} // namespace heddle
