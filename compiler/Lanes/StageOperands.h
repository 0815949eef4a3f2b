// The passes that copy the operands of matmuls to shared memory ahead of their use.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {

/// `heddle-stage-operands` for a profile, which must outlive the pass.
std::unique_ptr<Pass> createStageOperandsPass(const TargetProfile &profile);

/// `heddle-specialize-warps` with the producers, the shared memory and the warpgroup size of a profile.
std::unique_ptr<Pass> createSpecializeWarpsPass(const TargetProfile &profile);

/// `heddle-use-warpgroups` with the warpgroup size of a profile that has warpgroups.
std::unique_ptr<Pass> createUseWarpgroupsPass(const TargetProfile &profile);

inline Value constant(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }

/// Returns true if the loop does nothing with its only value but add a product to it.
bool isOnlyProduct(scf::ForOp loop, tile::DotOp product);

/// The same, if the loop loads the product's operands, and warpgroups can read them from shared memory as they are.
bool isWarpgroupProduct(scf::ForOp loop, tile::DotOp product);

/// Returns true if an operand's places past the end of the contracted dimension read as zero.
bool hasDepthLimit(tile::LoadOp operand);

/// Returns true if both read the same part of a matrix, even if one of them transposes it.
bool readSame(tile::LoadOp a, tile::LoadOp b);

/// Returns `value` with the loop's induction variable replaced as `mapping` says: clones the ops inside of the loop
/// that compute it.
Value cloneForCounter(OpBuilder &b, scf::ForOp loop, Value value, IRMapping &mapping);

} // namespace mlir::heddle
