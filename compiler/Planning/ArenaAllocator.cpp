#include "compiler/Planning/ArenaAllocator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

// The largest buffers first, each into the tightest gap that its lifetime leaves ("greedy by size" of Pisarchyk and
// Lee, 2020). On the graphs here that comes within a few percent of the largest sum of what lives at one time, which no
// plan can beat.
int64_t mlir::heddle::allocateArena(MutableArrayRef<ArenaBuffer> buffers) {
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, buffers.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    if (buffers[a].bytes != buffers[b].bytes)
      return buffers[a].bytes > buffers[b].bytes;
    if (buffers[a].first != buffers[b].first)
      return buffers[a].first < buffers[b].first;
    return a < b;
  });

  SmallVector<ArenaBuffer *> placed; // by offset
  int64_t total = 0;
  for (size_t index : order) {
    ArenaBuffer &buffer = buffers[index];
    int64_t bestRoom = std::numeric_limits<int64_t>::max(), best = -1, end = 0;
    for (ArenaBuffer *other : placed) {
      if (other->last < buffer.first || buffer.last < other->first)
        continue;
      int64_t room = other->offset - end;
      if (room >= buffer.bytes && room < bestRoom) {
        bestRoom = room;
        best = end;
      }
      end = std::max<int64_t>(end, llvm::alignTo(other->offset + other->bytes, kArenaAlignment));
    }
    buffer.offset = best < 0 ? end : best;
    placed.insert(llvm::upper_bound(placed, buffer.offset,
                                    [](int64_t offset, const ArenaBuffer *other) { return offset < other->offset; }),
                  &buffer);
    total = std::max<int64_t>(total, llvm::alignTo(buffer.offset + buffer.bytes, kArenaAlignment));
  }
  return total;
}
