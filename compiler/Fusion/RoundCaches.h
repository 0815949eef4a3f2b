// Caches of keys and values in 16 bits.
#ifndef HEDDLE_COMPILER_FUSION_ROUNDCACHES_H
#define HEDDLE_COMPILER_FUSION_ROUNDCACHES_H

#include "compiler/Target/Precision.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-round-caches`, on a module whose attention is fused: caches that fused attention alone reads are of f16 or bf16, and rows
/// are rounded on their way there. Queries, scores and sums stay as they are. Where no cache can be, the pass fails.
std::unique_ptr<Pass> createRoundCachesPass(Precision format);
void registerRoundCachesPass();

} // namespace mlir::heddle

#endif
