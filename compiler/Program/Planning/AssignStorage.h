// Assigns memory to each value of an entry: in a variable, or at an offset in the arena.
#pragma once

#include "compiler/Program/Planning/EntryGraph.h"

namespace mlir::heddle {

struct Storage {
  StringAttr variable; // null: the arena
  int64_t offset = 0;
};

struct StoragePlan {
  SmallVector<Storage> places; // by value
  /// The sizes of the arena's blocks in bytes; offsets count through all blocks. Each value lies within one block.
  SmallVector<int64_t> blocks;
  /// The maximum, over all points between two launches, of the bytes that are kept for later: by values whose last use
  /// comes after the next launch. In a training step these are mainly the values for the backward pass. The rest of the
  /// arena is workspace.
  int64_t keptBytes = 0;
};

/// Assigns storage; a block of the arena has at most `mostBytes`. Fails, after an error, if a value would need a copy
/// or is larger than a block.
FailureOr<StoragePlan> assignStorage(EntryGraph &graph, int64_t mostBytes);

} // namespace mlir::heddle
