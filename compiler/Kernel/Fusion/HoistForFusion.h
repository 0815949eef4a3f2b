// Moves ops to where kernels can take them in. `heddle-fuse-kernels` does this before it cuts a block into kernels.
#pragma once

#include "mlir/IR/Block.h"

namespace mlir::heddle {

/// Returns true if every kernel that uses the op gets a copy of it, because the op costs only a register. Comparisons
/// are copied too: their operand is in memory anyway, and booleans cannot be stored there. So are conversions to wider
/// types, whose operand is smaller than the result, the rows of a recurrence's step, which are read wherever they are
/// needed, and norms that `repeatNorms` repeats.
bool isCopied(Operation *op);

/// Moves reads of variables, and arithmetic on single numbers that depends only on them, to the front of the block. An
/// op that needs these values, such as a weight's update, can then join an earlier kernel. Arithmetic on one number per
/// row, or per part of a row, moves right behind its operands: a kernel that owns the rows can then do it.
void hoistForFusion(Block &block);

/// Reorders sums of matmuls for tensor cores: (x + a b) + c d becomes x + (a b + c d). One kernel then computes all of
/// these matmuls in one accumulator and adds x once. The gradient of an attention's input is such a sum: it has a
/// matmul for each of queries, keys and values, and x comes from the residual connection.
void addProductsFirst(Block &block);

/// Residual connections compute a layer norm's result again instead of reading it:
///
///   y = layer_norm x                         y, mean, rstd = layer_norm x
///   h = truncf y                      =>     h = truncf y
///   z = y + f(h)                             z = layer_norm_apply x, mean, rstd + f(h)
///
/// If only such sums and the norm's own kernel need y, it is never in memory. The sum reads x instead, which the
/// backward pass needs anyway. The sum is the epilogue of a matmul.
void repeatNorms(Block &block);

} // namespace mlir::heddle
