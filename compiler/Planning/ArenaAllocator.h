// Places buffers of known lifetimes in one arena.
#ifndef HEDDLE_COMPILER_PLANNING_ARENAALLOCATOR_H
#define HEDDLE_COMPILER_PLANNING_ARENAALLOCATOR_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>

namespace mlir::heddle {

/// A range of the arena that holds something from time `first` to time `last`, both included.
struct ArenaBuffer {
  int64_t bytes;
  int64_t first;
  int64_t last;
  int64_t offset = 0;
};

/// Every offset is a multiple of this: a cache line, and what any Vulkan device wants of an address.
inline constexpr int64_t kArenaAlignment = 256;

/// Sets the offsets so that buffers that live at the same time do not overlap, and returns the bytes of the arena's
/// blocks, which stand one behind the other. Each buffer lies in one block. A block has at most `mostBytes`, a multiple
/// of kArenaAlignment that no buffer exceeds. The result depends only on `mostBytes` and on the order of `buffers`;
/// where one block holds everything, it is the same for every `mostBytes`.
SmallVector<int64_t> allocateArena(MutableArrayRef<ArenaBuffer> buffers,
                                   int64_t mostBytes = std::numeric_limits<int64_t>::max());

} // namespace mlir::heddle

#endif
