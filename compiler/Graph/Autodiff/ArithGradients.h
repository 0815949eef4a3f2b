// The gradient rules of arith and math, as external models of DifferentiableOpInterface.
#ifndef HEDDLE_COMPILER_GRAPH_AUTODIFF_ARITHGRADIENTS_H
#define HEDDLE_COMPILER_GRAPH_AUTODIFF_ARITHGRADIENTS_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::heddle {

/// Attaches the models when the dialects are loaded. `heddle-differentiate` calls this; nothing else needs to.
void registerArithGradients(DialectRegistry &registry);

} // namespace mlir::heddle

#endif
