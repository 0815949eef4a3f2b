// The processor that this process runs on: its name, its instruction sets, and how many threads suit it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::hal::cpu {

// The instruction sets that targets are made for and that both the processor and the operating system have.
struct Processor {
  std::string name;                                 // "AMD EPYC 7763 64-Core Processor"
  std::string_view architecture;                    // "x86-64", "aarch64"; empty: Heddle has no target for it
  std::string missingForV3 = {}, missingForV4 = {}; // "AVX2, FMA": what x86-64-v3 and v4 need and is not there

  // This machine's.
  static const Processor &get();

  // How well code for a target runs: the largest is taken; 0 where it does not run.
  uint32_t suitability(std::string_view target) const;
  // Why code for a target does not run: "it lacks AVX512F"; empty where it does.
  std::string obstacle(std::string_view target) const;
  // The best target; empty where there is none.
  std::string bestTarget() const;
};

// Returns the number of threads that kernels run on: HEDDLE_THREADS (runtime/core/Threads.h) if it is set, otherwise
// usableProcessors(). At least 1.
unsigned threadCount();

// Returns how many physical cores this thread may run on, but no more than the CPU time that its control groups allow,
// rounded up. `root` is put before the paths of /proc and /sys, for tests.
unsigned usableProcessors(const std::string &root = "");

// Returns the CPU time that the control groups of this process allow, in processors, rounded up; 0 where they set no
// limit. Both versions of control groups are looked at, and the groups around the process's own.
unsigned allowedProcessors(const std::string &root = "");

} // namespace heddle::hal::cpu
