// Live ranges of an entry's arena: from which launch to which launch each part is in use.
#pragma once

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

/// A value in the arena, and its live range: from the step that writes it to the last step that reads it.
struct ArenaRange {
  ArenaBytes place;
  int64_t first = 0, last = 0;
  std::string port;    // name of the input or output that the value is; otherwise empty
  bool isMade = false; // true if step `first` writes it, false for inputs
};

/// Computes live ranges from an entry's steps, added in order. Overwriting a value ends its range.
class ArenaRanges {
public:
  static ArenaRanges of(plan::EntryOp entry);

  void addInput(StringRef name, ArenaBytes place);
  /// Adds a launch, or a collective of several ranks.
  void addStep(ArrayRef<ArenaBytes> reads, ArrayRef<ArenaBytes> writes);
  /// Adds an output. Called after the last step.
  void addOutput(StringRef name, ArenaBytes place);

  ArrayRef<ArenaRange> getRanges() const { return ranges; }

  struct Peak {
    int64_t step = 0, bytes = 0;
  };
  /// Returns the first step with the most bytes in use, counting each byte once.
  Peak findPeak() const;

private:
  std::vector<ArenaRange> ranges;
  std::vector<size_t> open; // ranges that nothing has overwritten yet
  int64_t steps = 0;
};

} // namespace mlir::heddle
