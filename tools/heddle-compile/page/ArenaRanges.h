// From which launch of an entry to which one each part of its arena is in use.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_ARENARANGES_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PAGE_ARENARANGES_H

#include "dialects/Plan/Plan.h"

#include <string>
#include <vector>

namespace mlir::heddle {

struct ArenaBytes {
  int64_t offset = 0, bytes = 0;

  bool overlaps(const ArenaBytes &other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

/// A value in the arena, from the step that makes it to the last one that reads it.
struct ArenaRange {
  ArenaBytes place;
  int64_t first = 0, last = 0;
  std::string port;    // the name of an input that it is, or of an output
  bool isMade = false; // by step `first`; otherwise an input
};

/// Follows the steps of an entry, in their order. What writes over a value ends it.
class ArenaRanges {
public:
  static ArenaRanges of(plan::EntryOp entry);

  void addInput(StringRef name, ArenaBytes place);
  /// A launch, or what several ranks do together.
  void addStep(ArrayRef<ArenaBytes> reads, ArrayRef<ArenaBytes> writes);
  /// After the last step.
  void addOutput(StringRef name, ArenaBytes place);

  ArrayRef<ArenaRange> getRanges() const { return ranges; }

  struct Peak {
    int64_t step = 0, bytes = 0;
  };
  /// The first step at which most bytes are in use, each byte counted once.
  Peak findPeak() const;

private:
  std::vector<ArenaRange> ranges;
  std::vector<size_t> open; // those that nothing has written over yet
  int64_t steps = 0;
};

} // namespace mlir::heddle

#endif
