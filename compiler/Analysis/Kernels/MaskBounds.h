// Linear bounds of an attention mask. They tell which tiles of the scores need to be visited.
#pragma once

#include "mlir/IR/Region.h"

namespace mlir::heddle {

/// The condition query * (query index) + key * (key index) + constant >= 0.
struct MaskBound {
  int64_t query, key, constant;
};

/// Returns conditions that every pair allowed by a mask region (query index, key index) -> i1 fulfils. They are the
/// comparisons of linear expressions, including |x| <= y, whose conjunction is the region's result. Anything else in
/// the region adds no condition, so the conditions may admit more pairs than the mask. `exact` is set to true if they
/// admit the same pairs.
SmallVector<MaskBound> getMaskBounds(Region &mask, bool *exact = nullptr);

} // namespace mlir::heddle
