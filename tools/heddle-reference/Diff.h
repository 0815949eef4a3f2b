// An entry as compiled beside what it means.
#ifndef HEDDLE_TOOLS_HEDDLE_REFERENCE_DIFF_H
#define HEDDLE_TOOLS_HEDDLE_REFERENCE_DIFF_H

#include "tools/heddle-reference/CommandLine.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Compiles `module`, a model as the phase `differentiate` leaves it, and calls the command's entry on the device and
/// in the interpreter, from the same variables and with the same inputs, random ones where no files give them. Prints
/// how far outputs and variables are from each other; failure, after an error, that names the first op whose results
/// part too, where that is more than the command's tolerance.
LogicalResult diff(ModuleOp module, const ReferenceCommand &command);

} // namespace mlir::heddle

#endif
