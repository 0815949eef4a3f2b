// The pass that gives matrix products factors of 16 bits.
#ifndef HEDDLE_COMPILER_FUSION_SETPRECISION_H
#define HEDDLE_COMPILER_FUSION_SETPRECISION_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// What the factors of matrix products are rounded to. All else is computed in f32: sums, softmax, layer norm, loss,
/// optimizer and its state, and the weights that it updates. TF32 is f32 in memory, of which tensor cores leave 10 bits
/// of the fraction away.
enum class Precision { F32, BF16, F16, TF32 };

StringRef toString(Precision precision);
std::optional<Precision> parsePrecision(StringRef name);

/// `heddle-set-precision`, on func.func before it is cut into kernels: rounds each factor of a product once, where it
/// is made, so that it is written and read with 16 bits; or marks the product, whose kernel then rounds to tf32.
std::unique_ptr<Pass> createSetPrecisionPass(Precision precision);
void registerSetPrecisionPass();

} // namespace mlir::heddle

#endif
