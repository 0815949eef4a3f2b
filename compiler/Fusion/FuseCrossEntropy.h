// Fusion of the head of a model: a linear transformation to the vocabulary, the cross entropy of its result, and the
// gradients of both, without the logits of all tokens at a time.
#ifndef HEDDLE_COMPILER_FUSION_FUSECROSSENTROPY_H
#define HEDDLE_COMPILER_FUSION_FUSECROSSENTROPY_H

#include <memory>

namespace mlir {
class Pass;
}

namespace mlir::heddle {

std::unique_ptr<Pass> createFuseCrossEntropyPass();
void registerFuseCrossEntropyPass();

} // namespace mlir::heddle

#endif
