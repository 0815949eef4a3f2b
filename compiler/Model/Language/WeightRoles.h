// The roles of weights in a model, by which optimizers and weight decay choose their rules.
#pragma once

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle::language {

/// The role of each weight of the module, by name: "vector" for biases and gains, "embedding" for tables in which
/// tokens look up rows, "head" for matrices whose matmul is the logits, and "matrix" for all others. A table that is
/// also the head is an embedding.
llvm::StringMap<StringRef> findWeightRoles(ModuleOp module);

/// The number of matrices of each weight that has a matrix for each expert, by name.
llvm::StringMap<int64_t> findMatricesOfExperts(ModuleOp module);

} // namespace mlir::heddle::language
