// A model text's tokens.
#ifndef HEDDLE_COMPILER_LANGUAGE_LEXER_H
#define HEDDLE_COMPILER_LANGUAGE_LEXER_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir::heddle::language {

struct Token {
  enum Kind { Name, Number, String, Mark, NewLine, End } kind;
  StringRef text; // of the file; without its quotes for a string
  LocationAttr where;
  bool is(StringRef mark) const { return kind == Mark && text == mark; }
  bool isName(StringRef name) const { return kind == Name && text == name; }
  /// What an error calls it.
  std::string describe() const;
};

/// The tokens of `text`, the last one an End. A character that no token has is an error of the context, and the result
/// is then a failure. `text` must outlive the tokens. Locations name the file `path`.
FailureOr<std::vector<Token>> tokenize(MLIRContext *context, StringRef path, StringRef text);

} // namespace mlir::heddle::language

#endif
