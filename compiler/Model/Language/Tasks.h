// The parts that a task defines.
#pragma once

#include "mlir/Support/LLVM.h"
#include "runtime/schema/Tasks.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace mlir::heddle::language {

struct PartInfo {
  StringLiteral name;
  StringLiteral result;         // the name of its value in the module
  std::vector<StringRef> sides; // the names of its inputs
  bool required;
};

/// The input of the part `rate`, the learning rate: the number of the optimizer's step, counted from 1.
inline constexpr StringLiteral kStep = "step";

/// The part of an optimizer: the step on one weight.
inline constexpr StringLiteral kUpdate = "update";

inline constexpr StringLiteral kEncode = "encode";

struct TaskInfo {
  StringLiteral name;          // of schema::kTasks
  std::vector<PartInfo> parts; // in order of elaboration
  ::heddle::Labelling labels = ::heddle::schema::findTask(std::string_view(name))->labelling;
};

/// Returns the parts of a task of schema::kTasks.
const TaskInfo *findTask(StringRef name);

} // namespace mlir::heddle::language
