// The learning rate of each step, as the model's function `rate` of the step's number.
#pragma once

#include "compiler/Model/Import/Description.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Adds the function that the keys of the description define, unless the model's text has its own. Fails after an error
/// if keys contradict each other or the text.
LogicalResult addSchedule(ModuleOp module, const Description &description);

} // namespace mlir::heddle
