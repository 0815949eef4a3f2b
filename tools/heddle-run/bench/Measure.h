// Times an entry, whole and kernel by kernel.
#pragma once

#include "runtime/session/Session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::run {

struct MeasureOptions {
  uint64_t repeat = 5; // timed calls
  uint64_t warmup = 3; // calls before them: the first touches memory for the first time, clocks rise during the others
};

// All launches of one kernel in one call.
struct KernelMeasurement {
  std::string name;
  uint64_t launches = 0;
  double seconds = 0; // each launch the median of the profiled calls
  LaunchCost work;    // of all launches; unknown where that of one is
};

struct EntryMeasurement {
  std::string name;
  std::map<std::string, std::vector<int64_t>> inputs; // their shapes
  LaunchCost work;                                    // of a call
  std::vector<double> seconds;                        // of each call, sorted; launches overlap as they may
  // Profiled calls: launches timed on the device, one after the other.
  std::vector<KernelMeasurement> kernels; // the slowest first
  uint64_t profiledCalls = 0;
  double profiledSeconds = 0; // median of their wall times: what the kernels' times must add up to
  std::vector<LaunchProfile> lastProfile;
  uint64_t deviceBytes = 0;        // the most that the session has taken of the device's memory, by the entry's end
  std::vector<LaunchCost> costs;   // of its launches
  std::optional<double> otherWork; // on a processor: the part of its time that went elsewhere, during the timed calls

  double median() const { return seconds[seconds.size() / 2]; }
  double kernelSeconds() const;
};

Result<EntryMeasurement> measure(Session &session, const std::string &entry, std::span<const Input> inputs,
                                 const MeasureOptions &options);

} // namespace heddle::run
