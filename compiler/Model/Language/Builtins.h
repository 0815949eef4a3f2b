// The built-in functions of the language. All others are written in the language (library/layers.weft).
#pragma once

#include "compiler/Model/Language/Elaborator.h"

namespace mlir::heddle::language {

struct Elaborator::Builtin {
  StringLiteral name;
  std::vector<StringRef> parameters;
  size_t required; // number of leading parameters that must be given
  Item (Elaborator::*evaluate)(BuiltinCall &);
  bool takesBlock = false;
};

} // namespace mlir::heddle::language
