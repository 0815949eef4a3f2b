// Between the interpreter's arrays and the tensors of files.
#ifndef HEDDLE_TOOLS_HEDDLE_REFERENCE_TENSORS_H
#define HEDDLE_TOOLS_HEDDLE_REFERENCE_TENSORS_H

#include "compiler/Reference/Interpreter.h"
#include "runtime/core/Tensor.h"

#include <string>

namespace mlir::heddle {

reference::Array toArray(const ::heddle::TensorView &tensor);

/// `array` as f32, or as i32 where `type` has whole numbers.
::heddle::Result<::heddle::HostTensor> toTensor(const reference::Array &array, Type type);

/// Gives variables the values of the tensors of their names. An error where a tensor has no variable, or another shape
/// or type.
::heddle::Status loadVariables(reference::Interpreter &interpreter, const std::string &path);

/// Saves all variables of f32 and i32 that are no storage of others.
::heddle::Status saveVariables(const reference::Interpreter &interpreter, ModuleOp module, const std::string &path);

} // namespace mlir::heddle

#endif
