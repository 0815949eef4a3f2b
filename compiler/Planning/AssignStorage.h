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
  int64_t arenaBytes = 0;
  /// The most bytes of the arena that are held between two launches by values whose last use is not the launch right
  /// after the one that made them: what a training step keeps for its backward pass. The rest of the arena is
  /// workspace.
  int64_t keptBytes = 0;
};

/// Failure, after an error, where a value would have to be copied.
FailureOr<StoragePlan> assignStorage(EntryGraph &graph);

} // namespace mlir::heddle

#endif
