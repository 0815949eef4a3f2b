// The arguments that kernels may read through texel buffers.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::heddle {

/// For each kernel of `module`, the arguments for which a launch gets part of a tensor, or a tensor that a texel buffer
/// cannot hold: texels have as many elements as the kernel's vectors, and their number is limited. A part may begin
/// anywhere, but a texel buffer only at a multiple of 256 bytes.
DenseMap<StringAttr, llvm::BitVector> getPartialArguments(ModuleOp module);

} // namespace mlir::heddle
