// The op at which compiled results part from what they mean.
#ifndef HEDDLE_TOOLS_HEDDLE_REFERENCE_FIRSTDIFFERENCE_H
#define HEDDLE_TOOLS_HEDDLE_REFERENCE_FIRSTDIFFERENCE_H

#include "compiler/Reference/Interpreter.h"
#include "tools/heddle-reference/CommandLine.h"
#include "tools/heddle-run/call/Compare.h"
#include "tools/heddle-run/call/RandomInputs.h"

namespace mlir::heddle {

/// What comparisons call the output of this name; variables have theirs.
inline std::string nameOfOutput(StringRef name) { return "output " + name.str(); }

/// Searches the command's entry in `module`, as the phase `differentiate` leaves it, for an op whose result parts from
/// the reference while those of the ops that it takes operands from agree: back from the outputs and variables that are
/// `wrong`, with results on the way among the outputs, the entry is compiled and called again. `variables` are those
/// before the call. Reports an error at the op, or, where what is wrong agrees once it is looked at, at the entry.
void reportFirstDifference(ModuleOp module, const ReferenceCommand &command, const reference::Interpreter &variables,
                           ArrayRef<::heddle::run::NamedTensor> inputs,
                           ArrayRef<::heddle::run::WholeComparison::Wrong> wrong);

} // namespace mlir::heddle

#endif
