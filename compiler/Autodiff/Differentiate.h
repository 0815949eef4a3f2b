// The pass `heddle-differentiate`: backward pass and optimizer as ordinary ops.
#ifndef HEDDLE_COMPILER_AUTODIFF_DIFFERENTIATE_H
#define HEDDLE_COMPILER_AUTODIFF_DIFFERENTIATE_H

#include <memory>

namespace mlir {
class Pass;
}

namespace mlir::heddle {

std::unique_ptr<Pass> createDifferentiatePass();
void registerDifferentiatePass();

} // namespace mlir::heddle

#endif
