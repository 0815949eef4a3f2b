// Where the inputs, outputs and intermediate values of an entry lie: in the arena, which all entries share, or, for
// debugging, each value in a buffer of its own. Tools that check accesses against allocations (compute-sanitizer, the
// emulated CUDA driver of the tests) then see a kernel that runs from one tensor into another.
#pragma once

#include "runtime/session/DeviceState.h"
#include "runtime/session/LaunchAccess.h"

namespace heddle {

class EntryMemory {
public:
  EntryMemory(DeviceState &state, const schema::Entry &entry, bool separate);

  // How much the entry touches of each block of the arena, in bytes.
  const std::vector<uint64_t> &blockBytes() const { return blocks; }
  uint64_t ownBytes() const; // of buffers of the entry's own
  Status allocate();         // those buffers, where they are not there yet

  struct Place {
    hal::Buffer *buffer = nullptr;
    uint64_t offset = 0;
  };
  // Of a range of the arena that the entry's launches or ports name.
  Place at(uint64_t offset, uint64_t bytes) const;

private:
  // A buffer for a part of the arena from `offset` on. Values that are read by other ranges than they were written in
  // (a part of a tensor) share a buffer.
  struct Part {
    uint64_t offset = 0, bytes = 0;
    std::unique_ptr<hal::Buffer> buffer;
  };
  void findParts(const schema::Entry &entry);
  void findBlocks(const schema::Entry &entry);

  DeviceState &state;
  const bool separate;
  std::vector<uint64_t> blocks, blockEnds; // bytes of each, and where it ends in the arena
  std::vector<Part> parts;
  std::map<std::pair<uint64_t, uint64_t>, size_t> partOf; // by offset and bytes of a range
};

} // namespace heddle
