// Products on tensor cores: of operands of 16 bits, or of f32 that are rounded to tf32 on the way.
#ifndef HEDDLE_COMPILER_KERNELS_FRAGMENTS_H
#define HEDDLE_COMPILER_KERNELS_FRAGMENTS_H

#include "dialects/Tile/Tile.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {

/// 16-bit elements that one lane copies to shared memory at once, and that stay neighbours there: 16 bytes.
inline constexpr int64_t kCopyElements = 8;

/// The widest rows of operands that are copied to shared memory.
inline constexpr int64_t kWidestCopy = 256;

/// Steps' operands that shared memory has room for, at least, where warpgroups multiply: those of the product that
/// runs, of the one that is started, and those that are copied.
inline constexpr int64_t kFewestWarpgroupStages = 3;

/// Whether tiles of `columns` of a matrix of 16-bit elements can be copied to shared memory.
inline bool canCopyOperands(int64_t matrixColumns, int64_t columns) {
  return matrixColumns % kCopyElements == 0 && columns % kCopyElements == 0 && llvm::isPowerOf2_64(columns) &&
         columns <= kWidestCopy;
}

/// On a product whose operands of f32 tensor cores may round to tf32.
inline constexpr llvm::StringLiteral kTensorFloatAttrName = "heddle.tf32";

/// Whether values of this type are operands for tensor cores, and for nothing else.
inline bool isTensorOperand(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

/// Whether a product of the graph is one that tensor cores can compute, given one of its operands.
inline bool hasTensorOperands(Operation *product, Value operand) {
  return isTensorOperand(operand.getType()) || product->hasAttr(kTensorFloatAttrName);
}

} // namespace mlir::heddle

#endif
