#include "compiler/Program/Planning/ArenaAllocator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <optional>

using namespace mlir;
using namespace mlir::heddle;

static int64_t align(int64_t bytes) { return static_cast<int64_t>(llvm::alignTo(bytes, kArenaAlignment)); }

namespace {

/// The buffers of one block. Their offsets count from the start of the block.
class ArenaBlock {
public:
  explicit ArenaBlock(int64_t mostBytes) : mostBytes(mostBytes) {}

  /// A place for a buffer: in a gap of `room` bytes between other buffers; or, without `room`, behind all buffers that
  /// are live at the same time, with the block growing by `growth` bytes.
  struct Place {
    int64_t offset = 0;
    std::optional<int64_t> room;
    int64_t growth = 0;

    /// The tightest gap is best, then the least growth.
    bool isBetterThan(const Place &other) const {
      if (room.has_value() != other.room.has_value())
        return room.has_value();
      return room ? *room < *other.room : growth < other.growth;
    }
  };

  /// The best place for a buffer; nothing if the block has no room.
  std::optional<Place> find(const ArenaBuffer &buffer) const {
    std::optional<Place> best;
    int64_t end = 0;
    for (const ArenaBuffer *other : placed) {
      if (other->last < buffer.first || buffer.last < other->first)
        continue;
      Place gap{end, other->offset - end};
      if (*gap.room >= buffer.bytes && (!best || gap.isBetterThan(*best)))
        best = gap;
      end = std::max(end, align(other->offset + other->bytes));
    }
    if (best)
      return best;
    if (buffer.bytes > mostBytes - end)
      return std::nullopt;
    return Place{end, std::nullopt, std::max<int64_t>(0, align(end + buffer.bytes) - bytes)};
  }

  void add(ArenaBuffer &buffer, int64_t offset) {
    buffer.offset = offset;
    placed.insert(llvm::upper_bound(placed, offset,
                                    [](int64_t offset, const ArenaBuffer *other) { return offset < other->offset; }),
                  &buffer);
    bytes = std::max(bytes, align(offset + buffer.bytes));
  }

  /// Adds the start of the block to the offsets of its buffers.
  void move(int64_t begin) {
    for (ArenaBuffer *buffer : placed)
      buffer->offset += begin;
  }

  int64_t getBytes() const { return bytes; }

private:
  int64_t mostBytes;
  int64_t bytes = 0;
  SmallVector<ArenaBuffer *> placed; // by offset
};

} // namespace

// "Greedy by size" (Pisarchyk and Lee, 2020): places the largest buffers first, each in the tightest gap that is free
// during its lifetime. On our graphs the result is within a few percent of the lower bound, the maximum sum of live
// buffers. A new block starts only if a buffer fits into no existing block.
SmallVector<int64_t> mlir::heddle::allocateArena(MutableArrayRef<ArenaBuffer> buffers, int64_t mostBytes) {
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, buffers.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    if (buffers[a].bytes != buffers[b].bytes)
      return buffers[a].bytes > buffers[b].bytes;
    if (buffers[a].first != buffers[b].first)
      return buffers[a].first < buffers[b].first;
    return a < b;
  });

  SmallVector<ArenaBlock> blocks;
  for (size_t index : order) {
    ArenaBuffer &buffer = buffers[index];
    assert(buffer.bytes <= mostBytes && "a buffer lies in one block");
    ArenaBlock *chosen = nullptr;
    ArenaBlock::Place best;
    for (ArenaBlock &block : blocks)
      if (std::optional<ArenaBlock::Place> place = block.find(buffer);
          place && (!chosen || place->isBetterThan(best))) {
        chosen = &block;
        best = *place;
      }
    if (!chosen) {
      chosen = &blocks.emplace_back(mostBytes);
      best = {};
    }
    chosen->add(buffer, best.offset);
  }

  SmallVector<int64_t> bytes;
  int64_t begin = 0;
  for (ArenaBlock &block : blocks) {
    block.move(begin);
    bytes.push_back(block.getBytes());
    begin += block.getBytes();
  }
  return bytes;
}
