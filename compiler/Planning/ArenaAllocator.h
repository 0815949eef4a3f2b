// Places buffers of known lifetimes in one arena.
#ifndef HEDDLE_COMPILER_PLANNING_ARENAALLOCATOR_H
#define HEDDLE_COMPILER_PLANNING_ARENAALLOCATOR_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

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

/// Sets the offsets so that buffers that live at the same time do not overlap, and returns the bytes of the arena. The
/// result depends on the order of `buffers` alone.
int64_t allocateArena(MutableArrayRef<ArenaBuffer> buffers);

} // namespace mlir::heddle

#endif
