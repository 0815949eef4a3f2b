// From a model text's characters to its syntax tree.
#ifndef HEDDLE_COMPILER_LANGUAGE_PARSER_H
#define HEDDLE_COMPILER_LANGUAGE_PARSER_H

#include "compiler/Language/Syntax.h"

namespace mlir::heddle::language {

/// Parses `text`, called `path` in errors. The first mistake is an error of the context, and the result a failure.
FailureOr<Text> parse(MLIRContext *context, StringRef path, StringRef text);

} // namespace mlir::heddle::language

#endif
