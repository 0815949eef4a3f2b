// Checks that attention shares with the ops of its unfused form, and the gradient of arithmetic on scores.
#pragma once

#include "dialects/Heddle/Checks.h"

namespace mlir::heddle {

/// Fails unless the region is elementwise arithmetic on scalars that yields an f32.
LogicalResult verifyElementwiseRegion(Operation *op, Region &region, StringRef name);

/// Fails unless the number of heads of the keys divides `heads`, the queries' number.
LogicalResult expectHeadsOfKeys(Operation *op, RankedTensorType queries, RankedTensorType keys, int64_t heads);

/// Fails unless `keyRows` is null or has a row of indices for each sequence.
LogicalResult verifyKeyRows(Operation *op, Value keyRows, Value keyStarts);

/// Turns a region of arithmetic on scalars into its gradient: the same arithmetic, and then the gradient rules in
/// reverse. The region takes the gradient of its result as one more argument, and yields the gradient of `argument`.
LogicalResult differentiateRegion(Region &region, Value argument);

/// The mask region takes a query and a key index and yields true if the pair counts.
LogicalResult verifyMaskRegion(Operation *op, Region &mask);

/// Fails unless `sink`, if there is one, has a number for each head.
LogicalResult verifySink(Operation *op, Value sink, int64_t heads);

} // namespace mlir::heddle
