// Converts between the interpreter's arrays and tensors in files.
#pragma once

#include "compiler/Reference/Interpreter.h"
#include "runtime/core/Tensor.h"

#include <string>

namespace mlir::heddle {

reference::Array toArray(const ::heddle::TensorView &tensor);

/// Returns `array` as f32, or as i32 if `type` has integer elements.
::heddle::Result<::heddle::HostTensor> toTensor(const reference::Array &array, Type type);

/// Sets each variable to the tensor of its name. Fails if a tensor has no variable, or differs in shape or type.
::heddle::Status loadVariables(reference::Interpreter &interpreter, const std::string &path);

/// Saves all f32 and i32 variables, except those that only store other variables.
::heddle::Status saveVariables(const reference::Interpreter &interpreter, ModuleOp module, const std::string &path);

} // namespace mlir::heddle
