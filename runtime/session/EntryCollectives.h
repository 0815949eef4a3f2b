// Runs the collectives of an entry: cuts the entry's launches into parts, with the collectives between them.
//
// A collective begins when the launches before it are done; the device continues with the next part meanwhile. If the
// ranks' devices form a group, they exchange the values themselves, and the device waits for them before the first part
// that uses them. Otherwise the values go through host memory and are uploaded before that part.
#pragma once

#include "runtime/session/EntryMemory.h"
#include "runtime/session/LaunchRuns.h"

namespace heddle {

class EntryCollectives {
public:
  EntryCollectives(DeviceState &state, const schema::Entry &entry, const EntryMemory &memory,
                   std::span<const LaunchRun> runs);

  // The launch runs [first, end), possibly none. Collectives below `finish` must be finished before the part, and
  // collectives below `start` are started after it.
  struct Part {
    size_t first = 0, end = 0;
    uint32_t finish = 0, start = 0;
  };
  // An entry without collectives is one part.
  std::span<const Part> parts() const { return cuts; }
  uint32_t count() const { return entry.collectives() ? entry.collectives()->size() : 0; }
  // The number of collectives that come before a run in the entry.
  uint32_t countBefore(const LaunchRun &run) const;

  // Call this when the entry's memory has moved.
  void forgetPlaces() { exchanges.clear(); }

  // Starts a collective after everything submitted so far. Collectives must be started, and finished, in order.
  Status start(uint32_t collective);
  // Finishes a collective. Without a device group, waits for the values of all ranks and adds uploads that write the
  // results to the device; their bytes live until the next call.
  Status finish(uint32_t collective, std::vector<hal::Upload> &uploads);

private:
  // The tensors that a group of devices exchanges for a collective.
  Result<std::vector<hal::DeviceGroup::Tensor>> exchangeOf(const schema::Collective &collective) const;
  struct Place {
    hal::Buffer *buffer;
    uint64_t offset;
  };
  Result<Place> placeOf(const schema::Binding &binding) const;
  bool isNothing(const schema::Collective &collective, flatbuffers::uoffset_t tensor) const;
  // Replaces this rank's values by the combined values of all ranks: the collective's tensors, one after the other.
  Status exchange(uint32_t collective, std::vector<std::byte> &values);
  // The bytes of a tensor that this rank contributes.
  Shards::Range given(const schema::Collective &collective, flatbuffers::uoffset_t tensor) const;
  void cut(std::span<const LaunchRun> runs);

  DeviceState &state;
  const schema::Entry &entry;
  const EntryMemory &memory;
  std::vector<Part> cuts;
  std::vector<std::vector<hal::DeviceGroup::Tensor>> exchanges; // by collective; filled at the first start()
  std::vector<std::vector<std::unique_ptr<hal::Readback>>>
      readbacks;                            // by collective and tensor; null if there is nothing to exchange
  std::vector<std::vector<std::byte>> made; // the bytes of each collective's results
};

} // namespace heddle
