// Which tensors of a Hugging Face folder are which weights.
#ifndef HEDDLE_COMPILER_HUGGINGFACE_NAMES_H
#define HEDDLE_COMPILER_HUGGINGFACE_NAMES_H

#include "compiler/Import/Description.h"

namespace mlir::heddle {

/// For each weight of the model an object: `from`, the names under which the tensor is known, of which a folder has
/// one; `transpose`, whether it is stored as outputs x inputs; `part` [i, n], where the weight is the i-th of n equal
/// parts of the tensor's columns; `rows`: "leading", where the tensor may have more rows than the weight.
llvm::json::Object nameMarianTensors(const Description &description);
llvm::json::Object nameBertTensors(const Description &description);
llvm::json::Object nameGPT2Tensors(const Description &description);

} // namespace mlir::heddle

#endif
