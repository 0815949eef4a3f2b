// The kernels of all ops but matmuls and attention.
#pragma once

#include "mlir/IR/DialectRegistry.h"

#include <cstdint>

namespace mlir::heddle {

struct TargetProfile;

/// Returns true if the lanes of a subgroup share a row of `width` columns and hold all of it at once.
bool ownsWholeRows(const TargetProfile &profile, int64_t width);

/// Attach the models of Analysis/Kernels/KernelInterfaces.td to the dialects' ops.
void registerDrawKernels(DialectRegistry &registry);
void registerElementwiseTiles(DialectRegistry &registry);
void registerPoolingKernels(DialectRegistry &registry);
void registerRecurrenceKernels(DialectRegistry &registry);
void registerRoutingKernels(DialectRegistry &registry);
void registerRowKernels(DialectRegistry &registry);
void registerScatterKernels(DialectRegistry &registry);
void registerSelectionKernels(DialectRegistry &registry);

} // namespace mlir::heddle
