// The pass that gives matrix products factors of 16 bits.
#ifndef HEDDLE_COMPILER_FUSION_SETPRECISION_H
#define HEDDLE_COMPILER_FUSION_SETPRECISION_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-set-precision`, on func.func before it is cut into kernels: rounds each factor of a product once, where it
/// is made, so that it is written and read with 16 bits; or marks the product, whose kernel then rounds to tf32.
/// Attention with heads of other widths than `heads` has stays in f32.
std::unique_ptr<Pass> createSetPrecisionPass(Precision precision, HeadWidths heads = {});
void registerSetPrecisionPass();

} // namespace mlir::heddle

#endif
