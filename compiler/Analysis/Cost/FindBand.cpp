#include "compiler/Analysis/Cost/Cost.h"

#include "compiler/Analysis/Kernels/MaskBounds.h"

using namespace mlir;
using namespace mlir::heddle;

/// Ignores a bound that excludes the query's own index. The band then counts more pairs than the mask.
Band mlir::heddle::findBand(Region &mask) {
  Band band;
  auto narrow = [](int64_t &side, int64_t bound) { side = side < 0 ? bound : std::min(side, bound); };
  for (MaskBound bound : getMaskBounds(mask)) {
    if (bound.query + bound.key != 0 || bound.key == 0 || bound.constant < 0)
      continue;
    if (bound.key < 0) // |key| (key - query) <= constant
      narrow(band.above, bound.constant / -bound.key);
    else
      narrow(band.below, bound.constant / bound.key);
  }
  return band;
}
