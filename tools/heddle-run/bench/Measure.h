// Times an entry as a whole and kernel by kernel.
#pragma once

#include "runtime/session/Session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heddle::run {

struct MeasureOptions {
  uint64_t repeat = 5; // timed calls
  uint64_t warmup =
      3; // untimed calls before: the first touches memory for the first time, clocks rise during the others
};

// All launches of one kernel in one call.
struct KernelMeasurement {
  std::string name;
  uint64_t launches = 0;
  double seconds = 0; // sum over the launches of each launch's median time
  LaunchCost work;    // of all launches; unknown if the work of one is
};

struct EntryMeasurement {
  std::string name;
  std::map<std::string, std::vector<int64_t>> inputs; // their shapes, by name
  LaunchCost work;                                    // of a call
  std::vector<double> seconds;                        // of each call, sorted; launches overlap as they may
  // Profiled calls: launches timed on the device, one after the other.
  std::vector<KernelMeasurement> kernels; // the slowest first
  uint64_t profiledCalls = 0;
  double profiledSeconds = 0; // median wall time; the kernels' times add up to about this
  std::vector<LaunchProfile> lastProfile;
  uint64_t deviceBytes = 0;        // the session's peak device memory, after the entry
  std::vector<LaunchCost> costs;   // of its launches
  std::optional<double> otherWork; // on a processor: the share of its time that other work took during the timed calls

  double median() const { return seconds[seconds.size() / 2]; }
  double kernelSeconds() const;
  // Returns the number of tokens that a call of a decoding entry reads, by its input `token`; 0 for other entries.
  int64_t tokens() const;
};

Result<EntryMeasurement> measure(Session &session, const std::string &entry, std::span<const Input> inputs,
                                 const MeasureOptions &options);

} // namespace heddle::run
