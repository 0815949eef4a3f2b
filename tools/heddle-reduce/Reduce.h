// Makes a module smaller while it stays interesting.
#ifndef HEDDLE_TOOLS_HEDDLE_REDUCE_REDUCE_H
#define HEDDLE_TOOLS_HEDDLE_REDUCE_REDUCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::heddle {

/// Whether a valid module shows the problem in question; failure ends the reduction.
using InterestingFn = llvm::function_ref<FailureOr<bool>(ModuleOp)>;

/// Leaves out functions, variables and other symbols, ops without a use, results and arguments of functions, and
/// attributes that no op defines; and puts operands, or tensors of zeros, in the place of results of ops. Each change
/// is kept where the module stays valid and interesting, and tried for many places at once before it is tried for one.
/// Ends when no change is kept. `module` is interesting at the start.
LogicalResult reduceModule(OwningOpRef<ModuleOp> &module, InterestingFn isInteresting);

} // namespace mlir::heddle

#endif
