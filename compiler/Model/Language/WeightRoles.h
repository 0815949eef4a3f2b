// What a weight is to its model. Optimizers and weight decay choose by it.
#ifndef HEDDLE_COMPILER_MODEL_LANGUAGE_WEIGHTROLES_H
#define HEDDLE_COMPILER_MODEL_LANGUAGE_WEIGHTROLES_H

#include "dialects/Heddle/Heddle.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::heddle::language {

/// The role of each weight of the module, by name: "vector" for biases and gains, "embedding" for tables of which tokens
/// take rows, "head" for matrices whose product is the logits, and "matrix" for all others. A table that is also the
/// head is an embedding.
llvm::StringMap<StringRef> findWeightRoles(ModuleOp module);

} // namespace mlir::heddle::language

#endif
