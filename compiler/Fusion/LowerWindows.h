// Phase `fuse`: windows as rows that stand elsewhere.
#ifndef HEDDLE_COMPILER_FUSION_LOWERWINDOWS_H
#define HEDDLE_COMPILER_FUSION_LOWERWINDOWS_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-lower-windows`: takes `heddle.unfold` of several offsets apart, and products of windows, so that no window is in
/// memory; without `products` all windows are.
std::unique_ptr<Pass> createLowerWindowsPass(bool products = true);
void registerLowerWindowsPass();

} // namespace mlir::heddle

#endif
