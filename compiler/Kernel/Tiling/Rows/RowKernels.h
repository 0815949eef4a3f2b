// The kernels of all ops but matmuls and attention.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Attach the models of Analysis/Kernels/KernelInterfaces.td to the dialects' ops.
void registerDrawKernels(DialectRegistry &registry);
void registerElementwiseTiles(DialectRegistry &registry);
void registerPoolingKernels(DialectRegistry &registry);
void registerRecurrenceKernels(DialectRegistry &registry);
void registerRoutingKernels(DialectRegistry &registry);
void registerScatterKernels(DialectRegistry &registry);
void registerSelectionKernels(DialectRegistry &registry);
void registerSoftmaxKernels(DialectRegistry &registry);
void registerSumKernels(DialectRegistry &registry);

} // namespace mlir::heddle
