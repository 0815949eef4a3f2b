// The gradient of a scan.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Gives `heddle.scan` its gradient rule: another scan, in the other direction. Forward values that the rules need and
/// do not compute again become further outputs of the forward scan. Sums over tokens, such as the gradients of weights,
/// leave the scan.
void registerScanGradient(DialectRegistry &registry);

} // namespace mlir::heddle
