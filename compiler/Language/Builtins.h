// The functions that the language has by itself. All others are written in it (library/layers.weft).
#ifndef HEDDLE_COMPILER_LANGUAGE_BUILTINS_H
#define HEDDLE_COMPILER_LANGUAGE_BUILTINS_H

#include "compiler/Language/Elaborator.h"

namespace mlir::heddle::language {

struct Elaborator::Builtin {
  StringLiteral name;
  std::vector<StringRef> parameters;
  size_t required; // of the parameters, from the first on
  Item (Elaborator::*evaluate)(BuiltinCall &);
  bool takesBlock = false;
};

} // namespace mlir::heddle::language

#endif
