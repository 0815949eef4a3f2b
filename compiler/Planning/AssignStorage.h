// Where each value of an entry lies: in a variable or at a place of the arena.
#ifndef HEDDLE_COMPILER_PLANNING_ASSIGNSTORAGE_H
#define HEDDLE_COMPILER_PLANNING_ASSIGNSTORAGE_H

#include "compiler/Planning/EntryGraph.h"

namespace mlir::heddle {

struct Storage {
  StringAttr variable; // or null: the arena, from `offset` on
  int64_t offset = 0;
};

struct StoragePlan {
  SmallVector<Storage> places; // by value
  /// Bytes of the arena's blocks, which stand one behind the other. Each value lies in one block.
  SmallVector<int64_t> blocks;
  /// The most bytes of the arena that are held between two launches by values whose last use is not the launch right
  /// after the one that made them: what a training step keeps for its backward pass. The rest of the arena is
  /// workspace.
  int64_t keptBytes = 0;
};

/// A block of the arena has at most `mostBytes`. Failure, after an error, where a value would have to be copied or is
/// larger than a block.
FailureOr<StoragePlan> assignStorage(EntryGraph &graph, int64_t mostBytes);

} // namespace mlir::heddle

#endif
