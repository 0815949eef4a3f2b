// The compiler's table of contents: which phases there are, in which order, and what each is made of.
#ifndef HEDDLE_COMPILER_PIPELINE_PIPELINE_H
#define HEDDLE_COMPILER_PIPELINE_PIPELINE_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Every dialect that a module may hold between import and emit.
void registerAllDialects(DialectRegistry &registry);

/// Every pass of ours, under the name that heddle-opt knows it by.
void registerAllPasses();

} // namespace mlir::heddle

#endif
