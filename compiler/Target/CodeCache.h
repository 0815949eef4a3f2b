// A folder with the code of kernels, which several runs of the compiler share.
#pragma once

#include "mlir/Support/LLVM.h"

namespace llvm {
class Module;
}

namespace mlir::heddle {

/// Writes a module's code into `code`. `compile` makes the code. If the environment variable HEDDLE_CODE_CACHE names a
/// folder, the code comes from there if an earlier call compiled the same module for the same target. The folder belongs
/// to one build of the compiler: the code depends on nothing else but the module and `target`. Fails if `compile` fails.
LogicalResult compileOnce(const llvm::Module &module, StringRef target,
                          function_ref<LogicalResult(SmallVectorImpl<char> &)> compile, SmallVectorImpl<char> &code);

} // namespace mlir::heddle
