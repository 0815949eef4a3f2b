// What ranks do together within an entry: the entry's launches in parts, and the collectives between them.
//
// A collective begins when the launches before it are done, and the device goes on with the next part. Where the ranks'
// devices are a group, they exchange the numbers themselves, and the device waits for them before the first part that
// uses them. Else the numbers go to the host, and come back before that part.
#pragma once

#include "runtime/session/EntryMemory.h"
#include "runtime/session/LaunchRuns.h"

namespace heddle {

class EntryCollectives {
public:
  EntryCollectives(DeviceState &state, const schema::Entry &entry, const EntryMemory &memory,
                   std::span<const LaunchRun> runs);

  // Runs [first, end), which may be none. Before them the collectives until `finish` are to be finished, and after them
  // those until `start` to be started.
  struct Part {
    size_t first = 0, end = 0;
    uint32_t finish = 0, start = 0;
  };
  // An entry without collectives is one part.
  std::span<const Part> parts() const { return cuts; }
  uint32_t count() const { return entry.collectives() ? entry.collectives()->size() : 0; }
  // The number of collectives before a run, in the entry's order.
  uint32_t countBefore(const LaunchRun &run) const;

  // The memory of the entry has moved.
  void forgetPlaces() { exchanges.clear(); }

  // Behind all that was submitted so far. Collectives are started, and finished, in their order.
  Status start(uint32_t collective);
  // In host memory: waits for the numbers of this and of all other ranks. The uploads, whose bytes live until the next
  // call, put the sums in their places.
  Status finish(uint32_t collective, std::vector<hal::Upload> &uploads);

private:
  // What a group of devices exchanges.
  Result<std::vector<hal::DeviceGroup::Tensor>> exchangeOf(const schema::Collective &collective) const;
  struct Place {
    hal::Buffer *buffer;
    uint64_t offset;
  };
  Result<Place> placeOf(const schema::Binding &binding) const;
  bool isNothing(const schema::Collective &collective, flatbuffers::uoffset_t tensor) const;
  // Makes what all ranks have of what this rank gives: of all tensors of a collective, one behind the other.
  Status exchange(uint32_t collective, std::vector<std::byte> &values);
  // What of a tensor this rank gives.
  Shards::Range given(const schema::Collective &collective, flatbuffers::uoffset_t tensor) const;
  void cut(std::span<const LaunchRun> runs);

  DeviceState &state;
  const schema::Entry &entry;
  const EntryMemory &memory;
  std::vector<Part> cuts;
  std::vector<std::vector<hal::DeviceGroup::Tensor>> exchanges; // by collective; made when the first of them starts
  std::vector<std::vector<std::unique_ptr<hal::Readback>>>
      readbacks;                            // by collective and tensor; none where nothing is to be done
  std::vector<std::vector<std::byte>> made; // by collective: the bytes of its results
};

} // namespace heddle
