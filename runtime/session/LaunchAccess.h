// The memory that a launch reads and writes, as the artifact lists it.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <vector>

namespace heddle {

// A range of bytes in the arena or in a variable.
struct BindingRange {
  schema::Space space;
  uint32_t index;
  uint64_t offset, bytes;

  explicit BindingRange(const schema::Binding &binding);
  // The memory of an input or an output.
  explicit BindingRange(const schema::Port &port)
      : space(schema::Space::Arena), index(0), offset(port.arena_offset()), bytes(port.bytes()) {}
  bool overlaps(const BindingRange &other) const;
  auto operator<=>(const BindingRange &) const = default;
};

struct LaunchAccess {
  std::vector<BindingRange> read, written;

  explicit LaunchAccess(const schema::Launch &launch);
  // Returns true if the launch reads (or writes) a binding, given by its index. If the artifact does not say, the
  // launch does both; run-time sizes are only read.
  static bool isRead(const schema::Launch &launch, flatbuffers::uoffset_t binding);
  static bool isWritten(const schema::Launch &launch, flatbuffers::uoffset_t binding);
  static bool isKnown(const schema::Launch &launch) { return launch.reads() && launch.writes(); }
};

bool overlap(const std::vector<BindingRange> &some, const std::vector<BindingRange> &others);

} // namespace heddle
