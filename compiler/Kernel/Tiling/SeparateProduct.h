// Kernels whose only anchor is a matmul on tensor cores, and how another kernel takes the matmul over.
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "compiler/Kernel/Tiling/Frames/MatrixTile.h"
#include "dialects/Heddle/Heddle.h"

namespace mlir::heddle {

/// Returns the matmul of two inputs of the kernel that runs on the target's tensor cores: the kernel's only anchor, or
/// the deeper of two matmuls that it adds up. Otherwise returns null.
MatmulOp findTensorProduct(KernelOp kernel, const TargetProfile &profile);

/// The matmul at the maxima of its sizes.
TensorProduct describeProduct(MatmulOp product, const llvm::StringMap<int64_t> &maxima);

/// Replaces the kernel by one at the place of `builder` that does the rest of its work and has `made` as another input.
/// `replace` gets the input's argument, and returns the value that replaces the matmul's result. Inputs that only the
/// matmul needs are dropped. The kernel's name begins with `prefix` instead of "matmul".
KernelOp separateProduct(OpBuilder &builder, KernelOp kernel, MatmulOp product, Value made, StringRef prefix,
                         function_ref<Value(OpBuilder &, Value)> replace);

} // namespace mlir::heddle
