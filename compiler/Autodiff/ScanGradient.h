// The gradient of a scan.
#ifndef HEDDLE_COMPILER_AUTODIFF_SCANGRADIENT_H
#define HEDDLE_COMPILER_AUTODIFF_SCANGRADIENT_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Gives `heddle.scan` its rule: another scan, in the other direction. What rules need of the forward pass, and what is
/// not made again from the rest, becomes further outputs of the scan; sums over tokens, as the gradients of weights
/// are, leave the scan.
void registerScanGradient(DialectRegistry &registry);

} // namespace mlir::heddle

#endif
