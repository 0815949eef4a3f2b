// Which memory a launch reads and writes, as the artifact says.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <vector>

namespace heddle {

// Bytes of the arena or of a variable.
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
  // Whether the launch reads or writes a binding, by its number. Where the artifact does not say, it does both; the
  // number that a size is it only reads.
  static bool isRead(const schema::Launch &launch, flatbuffers::uoffset_t binding);
  static bool isWritten(const schema::Launch &launch, flatbuffers::uoffset_t binding);
  static bool isKnown(const schema::Launch &launch) { return launch.reads() && launch.writes(); }
};

bool overlap(const std::vector<BindingRange> &some, const std::vector<BindingRange> &others);

} // namespace heddle
