// Parses a model text into its syntax tree.
#pragma once

#include "compiler/Model/Language/Syntax.h"

namespace mlir::heddle::language {

/// Parses `text`, called `path` in errors. Reports the first mistake to the context and returns a failure.
FailureOr<Text> parse(MLIRContext *context, StringRef path, StringRef text);

} // namespace mlir::heddle::language
