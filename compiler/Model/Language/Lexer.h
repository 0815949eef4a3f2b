// Splits a model text into tokens.
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir::heddle::language {

struct Token {
  enum Kind { Name, Number, String, Mark, NewLine, End } kind;
  StringRef text; // a slice of the file; a string's has no quotes
  LocationAttr where;
  bool is(StringRef mark) const { return kind == Mark && text == mark; }
  bool isName(StringRef name) const { return kind == Name && text == name; }
  /// The token's name in errors.
  std::string describe() const;
};

/// The tokens of `text`; the last one is an End. Reports a character that fits no token to the context, and fails.
/// `text` must outlive the tokens. Locations name the file `path`.
FailureOr<std::vector<Token>> tokenize(MLIRContext *context, StringRef path, StringRef text);

} // namespace mlir::heddle::language
