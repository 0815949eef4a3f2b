// Compares a compiled entry with the reference interpreter.
#pragma once

#include "tools/heddle-reference/ReferenceCommand.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::heddle {

/// Compiles `module`, a model as phase `differentiate` leaves it that has the command's entry, and calls the command's entry on the device and in
/// the interpreter, with the same variables and inputs. Inputs without files are random. Prints how far outputs and
/// variables differ. If they differ by more than the command's tolerance, fails after an error that names the first op
/// whose results differ.
LogicalResult diff(ModuleOp module, const ReferenceCommand &command);

} // namespace mlir::heddle
