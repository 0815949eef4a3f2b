// Recognises attention. Flag: heddle-fuse-attention.
#ifndef HEDDLE_COMPILER_FUSION_FUSEATTENTION_H
#define HEDDLE_COMPILER_FUSION_FUSEATTENTION_H

#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// Makes one `heddle.attention` of each attention written out op by op.
std::unique_ptr<Pass> createFuseAttentionPass();
void registerFuseAttentionPass();

} // namespace mlir::heddle

#endif
