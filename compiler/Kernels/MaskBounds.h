// What an attention mask says about which tiles of the scores are worth a visit.
#ifndef HEDDLE_COMPILER_KERNELS_MASKBOUNDS_H
#define HEDDLE_COMPILER_KERNELS_MASKBOUNDS_H

#include "mlir/IR/Region.h"

namespace mlir::heddle {

/// The condition query * (query index) + key * (key index) + constant >= 0.
struct MaskBound {
  int64_t query, key, constant;
};

/// Conditions that every pair of a mask region (query index, key index) -> i1 fulfils: the comparisons of linear
/// expressions that its result is a conjunction of, |x| <= y among them. Whatever else the region computes adds none,
/// so the pairs that fulfil all of them are those of the mask, or more. `exact` says that they are no more.
SmallVector<MaskBound> getMaskBounds(Region &mask, bool *exact = nullptr);

} // namespace mlir::heddle

#endif
