// Reads the vocabulary that is stored in an artifact: --vocabulary=FILE.
#pragma once

#include "compiler/Program/Emit/Emit.h"
#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace mlir::heddle {

/// Reads the SentencePiece model at `path` for an imported `model`. Fails, after an error, if the file is no
/// SentencePiece model, or numbers its pieces differently from the model's description.
FailureOr<std::vector<VocabularyFile>> readVocabulary(ModuleOp model, StringRef path);

} // namespace mlir::heddle
