// Matmuls on tensor cores: with 16-bit operands, or with f32 operands that are rounded to tf32.
#pragma once

#include "dialects/Tile/Tile.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {

/// The number of 16-bit elements that a lane copies to shared memory at once: 16 bytes. They stay adjacent there.
inline constexpr int64_t kCopyElements = 8;

/// The maximum number of columns of an operand tile that can be copied to shared memory.
inline constexpr int64_t kWidestCopy = 256;

/// The minimum number of K steps whose operands shared memory must hold if warpgroups multiply: the step that is being
/// multiplied, the step that is issued next, and the step that is being copied.
inline constexpr int64_t kFewestWarpgroupStages = 3;

/// Returns true if tiles with `columns` columns of a 16-bit matrix can be copied to shared memory.
inline bool canCopyOperands(int64_t matrixColumns, int64_t columns) {
  return matrixColumns % kCopyElements == 0 && columns % kCopyElements == 0 && llvm::isPowerOf2_64(columns) &&
         columns <= kWidestCopy;
}

/// Marks a matmul whose f32 operands tensor cores may round to tf32. It also marks the delta of attention's backward
/// pass if both kernels of that pass round the gradient so.
inline constexpr llvm::StringLiteral kTensorFloatAttrName = "heddle.tf32";

/// The most columns of all of an attention kernel's results, for one head, if its operands are f32. Tensor cores load
/// such operands from device memory to registers, and more results leave too few registers for that.
inline constexpr int64_t kMostTensorFloatColumns = 128;

/// The columns of a panel of #tile.swizzled, which has rows of 128 bytes: 64, or 32 for f32. Groups of 16 bytes stay
/// together: eight elements, or four of f32. Stores of tiles to panels of f32 round them to tf32.
inline int64_t panelColumns(Type element) {
  return 16 * tile::SwizzledAttr::kPanelColumns / element.getIntOrFloatBitWidth();
}

/// Returns true if the element type is 16-bit floating point. Such values serve only as operands of matmuls.
inline bool isTensorOperand(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

/// Returns true if tensor cores can compute the graph's `product`, given one of its operands.
inline bool hasTensorOperands(Operation *product, Value operand) {
  return isTensorOperand(operand.getType()) || product->hasAttr(kTensorFloatAttrName);
}

} // namespace mlir::heddle
