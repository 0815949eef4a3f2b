// Finds the op at which compiled results begin to differ from the reference.
#pragma once

#include "compiler/Reference/Interpreter.h"
#include "tools/heddle-reference/ReferenceCommand.h"
#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/RandomInputs.h"

namespace mlir::heddle {

/// Returns the name of an output in comparisons; variables go by their own names.
inline std::string nameOfOutput(StringRef name) { return "output " + name.str(); }

/// Searches the command's entry in `module`, as phase `differentiate` leaves it, for an op whose result differs from
/// the reference although its operands agree. The search goes back from the `wrong` outputs and variables. It compiles
/// and calls the entry again with intermediate results as additional outputs. `variables` are the values before the
/// call. Reports an error at the op, or at the entry if the wrong results agree once they are looked at.
void reportFirstDifference(ModuleOp module, const ReferenceCommand &command, const reference::Interpreter &variables,
                           ArrayRef<::heddle::run::NamedTensor> inputs,
                           ArrayRef<::heddle::run::WholeComparison::Wrong> wrong);

} // namespace mlir::heddle
