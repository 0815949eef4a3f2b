// Maps the tensors of a Hugging Face folder to weights.
#pragma once

#include "compiler/Model/Import/Description.h"

namespace mlir::heddle {

/// Returns an object for each weight of the model. `from` is the names under which the tensor is known; a folder has
/// one of them. `transpose` says that it is stored as outputs x inputs. `part` [i, n] says that the weight is the i-th
/// of n equal parts of the tensor's columns.
llvm::json::Object nameMarianTensors(const Description &description);

} // namespace mlir::heddle
