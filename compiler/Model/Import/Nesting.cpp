#include "compiler/Model/Import/Nesting.h"

using llvm::StringRef;

/// Returns the rest of `text` after the string that it begins with.
static StringRef dropString(StringRef text, bool isTOML) {
  StringRef quote = text.take_front(1);
  std::string three = (quote + quote + quote).str();
  bool manyLines = isTOML && text.starts_with(three);
  if (manyLines)
    quote = three;
  text = text.drop_front(quote.size());
  while (!text.empty() && !text.starts_with(quote)) {
    if (isTOML && !manyLines && text.front() == '\n') // unterminated: the parser reports it
      return text;
    text = text.drop_front(std::min<size_t>(text.size(), text.front() == '\\' && quote.front() == '"' ? 2 : 1));
  }
  return text.drop_front(std::min(text.size(), quote.size()));
}

/// Counts brackets, and the dots of a key or number, because dotted keys nest too.
static bool nestsTooDeep(StringRef text, bool isTOML) {
  size_t depth = 0, dots = 0;
  while (!text.empty()) {
    char c = text.front();
    if (c == '"' || (isTOML && c == '\'')) {
      text = dropString(text, isTOML);
      continue;
    }
    if (isTOML && c == '#') {
      text = text.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (c == '[' || c == '{')
      ++depth;
    else if ((c == ']' || c == '}') && depth != 0)
      --depth;
    else if (isTOML && c == '.')
      ++dots;
    if (StringRef("\n,={[").contains(c))
      dots = 0;
    if (depth + dots > mlir::heddle::kDeepestNesting)
      return true;
    text = text.drop_front();
  }
  return false;
}

llvm::Expected<llvm::json::Value> mlir::heddle::parseShallowJSON(StringRef text) {
  if (nestsTooDeepJSON(text))
    return llvm::createStringError("its values nest more than " + llvm::Twine(kDeepestNesting) + " deep");
  return llvm::json::parse(text);
}

bool mlir::heddle::nestsTooDeepJSON(StringRef text) { return nestsTooDeep(text, /*isTOML=*/false); }

bool mlir::heddle::nestsTooDeepTOML(StringRef text) { return nestsTooDeep(text, /*isTOML=*/true); }

std::optional<std::pair<unsigned, unsigned>> mlir::heddle::findTooDeepMLIR(StringRef text) {
  if (text.starts_with("ML\xefR")) // bytecode
    return std::nullopt;
  size_t depth = 0;
  unsigned line = 1;
  const char *lineStart = text.data();
  for (StringRef rest = text; !rest.empty();) {
    char c = rest.front();
    if (c == '"') {
      // A string ends on its line; otherwise MLIR's lexer reports it.
      size_t end = 1;
      while (end < rest.size() && rest[end] != '"' && rest[end] != '\n')
        end += rest[end] == '\\' ? 2 : 1;
      rest = rest.drop_front(std::min(rest.size(), end < rest.size() && rest[end] == '\n' ? end : end + 1));
      continue;
    }
    if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (rest.starts_with("->") || rest.starts_with("<=") || rest.starts_with(">=")) { // no brackets
      rest = rest.drop_front(2);
      continue;
    }
    if (StringRef("([{<").contains(c) && ++depth > kDeepestModule)
      return std::pair(line, static_cast<unsigned>(rest.data() - lineStart + 1));
    if (StringRef(")]}>").contains(c) && depth != 0)
      --depth;
    rest = rest.drop_front();
    if (c == '\n') {
      ++line;
      lineStart = rest.data();
    }
  }
  return std::nullopt;
}
