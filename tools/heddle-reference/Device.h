// A module compiled for a device, and calls of its entry there.
#ifndef HEDDLE_TOOLS_HEDDLE_REFERENCE_DEVICE_H
#define HEDDLE_TOOLS_HEDDLE_REFERENCE_DEVICE_H

#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Reference/Interpreter.h"
#include "runtime/session/Session.h"
#include "tools/heddle-reference/CommandLine.h"

namespace mlir::heddle {

/// Compiles a module, as the phase `differentiate` leaves it, and opens it on the command's device. The module is
/// spent. Null after an error.
std::unique_ptr<::heddle::Session> compileForDevice(ModuleOp module, const ReferenceCommand &command);

/// The variables that callers see, by name, with their values.
::heddle::Status copyToDevice(const reference::Interpreter &interpreter, ::heddle::Session &session);
::heddle::Status copyFromDevice(::heddle::Session &session, reference::Interpreter &interpreter);

} // namespace mlir::heddle

#endif
