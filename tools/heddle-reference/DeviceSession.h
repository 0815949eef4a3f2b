// Compiles a module for a device and copies variables to and from it.
#pragma once

#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Reference/Interpreter.h"
#include "runtime/session/Session.h"
#include "tools/heddle-reference/ReferenceCommand.h"

namespace mlir::heddle {

/// Compiles a module, as phase `differentiate` leaves it, and opens it on the command's device. Compiling consumes the
/// module. Returns null after an error.
std::unique_ptr<::heddle::Session> compileForDevice(ModuleOp module, const ReferenceCommand &command);

/// Copy the values of all variables that callers see, matched by name.
::heddle::Status copyToDevice(const reference::Interpreter &interpreter, ::heddle::Session &session);
::heddle::Status copyFromDevice(::heddle::Session &session, reference::Interpreter &interpreter);

} // namespace mlir::heddle
