// Allocates buffers of known lifetimes in one arena.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>

namespace mlir::heddle {

/// A buffer in the arena that is live from time `first` to time `last`, inclusive.
struct ArenaBuffer {
  int64_t bytes;
  int64_t first;
  int64_t last;
  int64_t offset = 0;
};

/// All offsets are multiples of this. It is at least a cache line, and satisfies the alignment of any Vulkan device.
inline constexpr int64_t kArenaAlignment = 256;

/// Sets the offsets so that buffers that are live at the same time do not overlap. Returns the sizes of the arena's
/// blocks in bytes; offsets count through all blocks. Each buffer lies within one block. A block has at most
/// `mostBytes`, which must be a multiple of kArenaAlignment that no buffer exceeds. The result depends only on
/// `buffers`, their order, and `mostBytes`. If everything fits into one block, `mostBytes` makes no difference.
SmallVector<int64_t> allocateArena(MutableArrayRef<ArenaBuffer> buffers,
                                   int64_t mostBytes = std::numeric_limits<int64_t>::max());

} // namespace mlir::heddle
