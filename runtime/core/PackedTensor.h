// The parts of a matrix of packed numbers.
#pragma once

#include "runtime/core/PackedFormat.h"
#include "runtime/core/Tensor.h"

namespace heddle {

// The operands of heddle.dequantize, as f32. `scales` and `offsets` are integers if they have factors.
struct PackedTensor {
  PackedFormat format;
  HostTensor numbers, scales, offsets, scaleFactors, offsetFactors; // parts that the format lacks are empty

  // Calls `change` with each part that the format has, and with the numbers of a row that share one of its elements.
  template <typename Change> Status forEach(Change change) {
    bool hasFactors = format.scaleBits > 0;
    HEDDLE_CHECK(change(numbers, 1));
    HEDDLE_CHECK(change(scales, format.group));
    if (hasFactors)
      HEDDLE_CHECK(change(scaleFactors, format.factorGroup));
    if (format.hasOffsets)
      HEDDLE_CHECK(change(offsets, format.group));
    if (format.hasOffsets && hasFactors)
      HEDDLE_CHECK(change(offsetFactors, format.factorGroup));
    return Success();
  }
};

} // namespace heddle
