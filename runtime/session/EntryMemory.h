// Places the inputs, outputs and intermediate values of an entry: in the arena, which all entries share, or, for
// debugging, each value in its own buffer. With separate buffers, tools that check accesses against allocations
// (compute-sanitizer, the tests' emulated CUDA driver) detect a kernel that runs from one tensor into another.
#pragma once

#include "runtime/session/DeviceState.h"
#include "runtime/session/LaunchAccess.h"

namespace heddle {

class EntryMemory {
public:
  EntryMemory(DeviceState &state, const schema::Entry &entry, bool separate);

  // The bytes that the entry needs of each block of the arena.
  const std::vector<uint64_t> &blockBytes() const { return blocks; }
  uint64_t ownBytes() const; // bytes of the entry's separate buffers
  Status allocate();         // allocates the separate buffers that are not allocated yet

  struct Place {
    hal::Buffer *buffer = nullptr;
    uint64_t offset = 0;
  };
  // The memory of a range of the arena that the entry's launches or ports name.
  Place at(uint64_t offset, uint64_t bytes) const;

private:
  // A separate buffer for a part of the arena. If a value is read in other ranges than it was written in (a part of a
  // tensor), these ranges share a buffer.
  struct Part {
    uint64_t offset = 0, bytes = 0;
    std::unique_ptr<hal::Buffer> buffer;
  };
  void findParts(const schema::Entry &entry);
  void findBlocks(const schema::Entry &entry);

  DeviceState &state;
  const bool separate;
  std::vector<uint64_t> blocks, blockEnds; // bytes of each block, and its end offset in the arena
  std::vector<Part> parts;
  std::map<std::pair<uint64_t, uint64_t>, size_t> partOf; // key: offset and bytes of a range
};

} // namespace heddle
