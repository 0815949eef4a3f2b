// Makes a module smaller while it still shows a problem.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::heddle {

/// Returns true if a valid module shows the problem in question. Failure ends the reduction.
using InterestingFn = llvm::function_ref<FailureOr<bool>(ModuleOp)>;

/// Removes functions, variables and other symbols, unused ops, results and arguments of functions, and attributes that
/// no op defines. Replaces results of ops by their operands or by tensors of zeros. A change is tried at many places at
/// once before it is tried at one, and is kept if the module stays valid and interesting. Ends when no change is kept.
/// `module` must be interesting at the start.
LogicalResult reduceModule(OwningOpRef<ModuleOp> &module, InterestingFn isInteresting);

} // namespace mlir::heddle
