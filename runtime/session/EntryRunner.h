// Runs one entry: its launches are recorded once and replayed for every call.
#pragma once

#include "runtime/session/CallBinding.h"
#include "runtime/session/EntryCollectives.h"
#include "runtime/session/EntryMemory.h"
#include "runtime/session/LaunchRuns.h"

namespace heddle {

class EntryRunner {
public:
  EntryRunner(DeviceState &state, const schema::Entry &entry, bool separateValues);

  const schema::Entry &entry;

  const EntryMemory &values() const { return memory; }
  std::vector<uint32_t> kernels() const;

  // Records the launches; the arena must be large enough, and the kernels must be loaded.
  Status record();
  // Starts one launch with no workgroups, and waits, for drivers that compile a kernel at its first launch.
  Status launchOverNothing(uint32_t launch);
  bool recorded() const { return !programs.empty(); }
  void forget() { programs.clear(), timedPrograms.clear(); } // after the arena has moved

  // Checks the inputs and sends them to the device, after earlier runs.
  Status send(std::span<const Input> inputs, Send send);
  // Checks the inputs, sends them to the device and starts the launches. Does not wait.
  Status run(std::span<const Input> inputs, Send send);
  // Like run(), but waits for each launch. The first launch that writes NaN or infinity is an error that says what it
  // computes. Costs nothing in calls that do not use it.
  Status runChecked(std::span<const Input> inputs);
  // Like run(), but times each launch while nothing else runs on the device, and waits. Recorded on first use.
  Result<std::vector<LaunchProfile>> profile(std::span<const Input> inputs, Send send);

  // Outputs of the last run.
  Result<HostTensor> output(const schema::Port &port) const;
  Result<PendingTensor> outputLater(const schema::Port &port) const;

private:
  Result<std::unique_ptr<hal::Program>> record(size_t firstRun, size_t count, bool timed);
  using Programs = std::vector<std::unique_ptr<hal::Program>>; // one for each part
  Result<Programs> recordParts(bool timed);
  Status submit(const Programs &recordings, std::span<const Input> inputs, Send send);
  // Runs the collectives from `done` to `until`, and waits for them.
  Status doTogether(uint32_t until, uint32_t &done);
  // Checks the inputs and counts the workgroups.
  Result<CallBinding> bind(std::span<const Input> inputs);
  Status write(std::span<const hal::Upload> uploads);
  Result<std::vector<hal::Upload>> uploadsOf(const CallBinding &binding, Send send);
  Status computeCounts(std::span<const int32_t> sizes);
  // Of a launch's workgroups along an axis, returns the number that this device starts: those for its rank's share of
  // the rows, or at most one for each processor if the kernel is persistent.
  uint64_t groupsHere(const schema::Launch &launch, flatbuffers::uoffset_t axis, uint64_t groups) const;
  Status shard(const schema::Launch &launch, std::span<hal::Argument> arguments) const;

  DeviceState &state;
  EntryMemory memory;
  std::vector<bool> overwritten; // inputs whose memory a launch writes
  Programs programs, timedPrograms;
  std::vector<LaunchRun> runs;
  EntryCollectives collectives;
  std::vector<uint32_t> countOfRun; // for each run, its index in the two vectors below: equal grids are counted once
  std::vector<LaunchRun> countRun;
  std::vector<hal::WorkgroupCount> counts;
  std::vector<int32_t> sizes; // the run-time sizes of the last run
};

} // namespace heddle
