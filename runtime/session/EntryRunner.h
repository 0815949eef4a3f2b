// One entry, ready to run: its launches recorded once, replayed for every call.
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

  // Records the launches; the arena must be large enough and the kernels loaded.
  Status record();
  // Starts one launch with no workgroups, and waits. Drivers that compile a kernel at its first launch do so here.
  Status launchOverNothing(uint32_t launch);
  bool recorded() const { return !programs.empty(); }
  void forget() { programs.clear(), timedPrograms.clear(); } // the recordings are void, for the arena moved

  // Checks the inputs and sends them to the device, after earlier runs.
  Status send(std::span<const Input> inputs, Send send);
  // Checks the inputs, sends them to the device and starts the launches. Does not wait.
  Status run(std::span<const Input> inputs, Send send);
  // Like run(), one launch after the other, waiting for each: the first that writes NaN or infinities is an error,
  // which says what it computes. Costs a call without it nothing.
  Status runChecked(std::span<const Input> inputs);
  // Like run(), with each launch timed and alone on the device; then waits. Recorded when first asked for.
  Result<std::vector<LaunchProfile>> profile(std::span<const Input> inputs, Send send);

  // Of the last run.
  Result<HostTensor> output(const schema::Port &port) const;
  Result<PendingTensor> outputLater(const schema::Port &port) const;

private:
  Result<std::unique_ptr<hal::Program>> record(size_t firstRun, size_t count, bool timed);
  using Programs = std::vector<std::unique_ptr<hal::Program>>; // one for each part
  Result<Programs> recordParts(bool timed);
  Status submit(const Programs &recordings, std::span<const Input> inputs, Send send);
  // What ranks do together is done by then, up to the collective `until`.
  Status doTogether(uint32_t until, uint32_t &done);
  // Checks the inputs and counts the workgroups.
  Result<CallBinding> bind(std::span<const Input> inputs);
  Status write(std::span<const hal::Upload> uploads);
  Result<std::vector<hal::Upload>> uploadsOf(const CallBinding &binding, Send send);
  Status computeCounts(std::span<const int32_t> sizes);
  std::optional<uint64_t> groupsOfShard(const schema::Launch &launch, flatbuffers::uoffset_t axis) const;
  Status shard(const schema::Launch &launch, std::span<hal::Argument> arguments) const;

  DeviceState &state;
  EntryMemory memory;
  std::vector<bool> overwritten; // inputs whose memory a launch writes
  Programs programs, timedPrograms;
  std::vector<LaunchRun> runs;
  EntryCollectives collectives;
  std::vector<uint32_t> countOfRun; // run -> index into the two below: equal grids are counted once
  std::vector<LaunchRun> countRun;
  std::vector<hal::WorkgroupCount> counts;
  std::vector<int32_t> sizes; // of the last run
};

} // namespace heddle
