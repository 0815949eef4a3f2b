// Weights of whole numbers with scales, as artifacts that were compiled with --weights have them: made of f32 when a
// weight is written.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"

namespace heddle {

struct PackedWeight {
  HostTensor words;  // i32: each holds the numbers of 32 / bits rows of a column, the first in its lowest bits
  HostTensor scales; // f32: of groups of rows and columns
};

// The numbers of 8 or 4 bits nearest to `values`, rows x columns of f32, where `words` and `scales` are the shapes
// wanted: a scale is that of as many rows, and columns, as the matrix has more. 8 bits go from -127 to 127; of 4 bits
// -8 is the number of a group's largest magnitude. InvalidArgument where the shapes do not fit each other; Malformed
// where a value is not finite.
Result<PackedWeight> packWeight(const TensorView &values, const Shape &words, const Shape &scales);

} // namespace heddle
