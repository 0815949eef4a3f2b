#include "compiler/Model/Language/Lexer.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::heddle::language;

static constexpr StringLiteral kMarks[] = {"..", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ",",
                                           "|",  "=",  "<",  ">",  "+",  "-", "*", "/", "%", "^", "@", "~"};

static bool startsName(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool continuesName(char c) { return llvm::isAlnum(c) || c == '_' || c == '\''; }

std::string Token::describe() const {
  switch (kind) {
  case NewLine:
    return "the end of the line";
  case End:
    return "the end of the file";
  case String:
    return "the string \"" + text.take_front(40).str() + "\"";
  case Number:
    return "the number " + text.take_front(40).str();
  default:
    return "'" + text.take_front(40).str() + "'";
  }
}

namespace {

class Lexer {
public:
  Lexer(MLIRContext *context, StringRef path, StringRef text) : file(StringAttr::get(context, path)), rest(text) {}

  FailureOr<std::vector<Token>> run();

private:
  LocationAttr here() { return FileLineColLoc::get(file, line, column); }

  void add(Token::Kind kind, size_t length) {
    tokens.push_back({kind, rest.take_front(length), here()});
    skip(length);
  }
  void skip(size_t length) {
    rest = rest.drop_front(length);
    column += static_cast<unsigned>(length);
  }

  size_t nameLength();
  size_t numberLength();
  LogicalResult string();

  StringAttr file;
  StringRef rest;
  unsigned line = 1, column = 1;
  std::vector<Token> tokens;
};

} // namespace

/// The length of the name at the current position. Points within a name belong to it, as in `source.positions`.
size_t Lexer::nameLength() {
  size_t length = 1;
  while (length < rest.size()) {
    bool point = rest[length] == '.' && length + 1 < rest.size() && startsName(rest[length + 1]);
    if (!point && !continuesName(rest[length]))
      break;
    ++length;
  }
  return length;
}

size_t Lexer::numberLength() {
  auto digits = [&](size_t from) {
    while (from < rest.size() && llvm::isDigit(rest[from]))
      ++from;
    return from;
  };
  auto isDigitAt = [&](size_t i) { return i < rest.size() && llvm::isDigit(rest[i]); };
  size_t length = digits(0);
  if (length < rest.size() && rest[length] == '.' && isDigitAt(length + 1))
    length = digits(length + 1);
  if (length < rest.size() && (rest[length] == 'e' || rest[length] == 'E')) {
    size_t exponent = length + 1;
    if (exponent < rest.size() && (rest[exponent] == '-' || rest[exponent] == '+'))
      ++exponent;
    if (isDigitAt(exponent))
      length = digits(exponent);
  }
  return length;
}

LogicalResult Lexer::string() {
  size_t end = rest.find_first_of("\"\n", 1);
  if (end == StringRef::npos || rest[end] == '\n')
    return emitError(Location(here())) << "the string has no end; close it with '\"' on the same line";
  if (!llvm::json::isUTF8(rest.slice(1, end))) // strings of the text end up in an artifact's description
    return emitError(Location(here())) << "the string is not UTF-8; save the text in that encoding";
  tokens.push_back({Token::String, rest.slice(1, end), here()});
  skip(end + 1);
  return success();
}

FailureOr<std::vector<Token>> Lexer::run() {
  while (!rest.empty()) {
    char c = rest.front();
    if (c == '\n') {
      add(Token::NewLine, 1);
      ++line;
      column = 1;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      skip(1);
    } else if (c == '#') {
      skip(std::min(rest.find('\n'), rest.size()));
    } else if (startsName(c)) {
      add(Token::Name, nameLength());
    } else if (llvm::isDigit(c)) {
      add(Token::Number, numberLength());
    } else if (c == '"') {
      if (failed(string()))
        return failure();
    } else if (const auto *mark = llvm::find_if(kMarks, [&](StringRef mark) { return rest.starts_with(mark); });
               mark != std::end(kMarks)) {
      add(Token::Mark, mark->size());
    } else {
      std::string shown = llvm::isPrint(c) ? "'" + std::string(1, c) + "'" : "byte " + std::to_string(uint8_t(c));
      return emitError(Location(here())) << shown << " means nothing in a model text; remove it, or make it part of a "
                                         << "string or a comment (# to the end of the line)";
    }
  }
  tokens.push_back({Token::End, rest, here()});
  return std::move(tokens);
}

FailureOr<std::vector<Token>> mlir::heddle::language::tokenize(MLIRContext *context, StringRef path, StringRef text) {
  return Lexer(context, path, text).run();
}
