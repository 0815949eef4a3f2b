#include "runtime/chat/Lexer.h"

#include "runtime/chat/Literals.h"
#include "runtime/chat/Strings.h"
#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::chat {
namespace {

// Converts line ends to \n, and removes one at the end of the template.
std::string withPlainLineEnds(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    bool isReturn = text[i] == '\r';
    plain += isReturn ? '\n' : text[i];
    if (isReturn && i + 1 < text.size() && text[i + 1] == '\n')
      ++i;
  }
  if (!plain.empty() && plain.back() == '\n')
    plain.pop_back();
  return plain;
}

constexpr std::string_view kSigns[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                       "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

class Lexer {
public:
  explicit Lexer(std::string text) : text(std::move(text)) {}

  Result<std::vector<Token>> run() {
    while (place < text.size()) {
      size_t open = findOpening(place);
      if (open == std::string::npos) {
        addData(text.size());
        break;
      }
      HEDDLE_CHECK(readTag(open));
    }
    add(Token::Kind::End, "");
    return std::move(tokens);
  }

private:
  // The next {{, {% or {#.
  size_t findOpening(size_t begin) const {
    for (size_t open = text.find('{', begin); open != std::string::npos; open = text.find('{', open + 1))
      if (open + 1 < text.size() && (text[open + 1] == '{' || text[open + 1] == '%' || text[open + 1] == '#'))
        return open;
    return std::string::npos;
  }

  void add(Token::Kind kind, std::string content, Value number = Value()) {
    tokens.push_back(Token{kind, line, std::move(content), std::move(number)});
  }

  void moveTo(size_t end) {
    line += int(std::count(text.begin() + std::ptrdiff_t(place), text.begin() + std::ptrdiff_t(end), '\n'));
    place = end;
  }

  // Adds the text up to a tag that begins at `end`. A minus in the tag strips all white space before it. A tag that
  // prints nothing strips the blanks before it on its line, unless it has a plus.
  void addData(size_t end, char sign = '+', bool isPrint = false) {
    std::string_view data = std::string_view(text).substr(place, end - place);
    if (sign == '-') {
      data = stripped(data, nullptr, Ends::Right);
    } else if (sign != '+' && !isPrint) {
      size_t lineEnd = data.rfind('\n');
      size_t begin = lineEnd == std::string_view::npos ? 0 : lineEnd + 1;
      bool beginsLine = begin > 0 || place == 0 || text[place - 1] == '\n';
      if (beginsLine && stripped(data.substr(begin), nullptr, Ends::Left).empty())
        data = data.substr(0, begin);
    }
    if (!data.empty())
      add(Token::Kind::Data, std::string(data));
    moveTo(end);
  }

  char signAt(size_t at) const { return at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : ' '; }

  size_t skipSpace(size_t at) const {
    while (at < text.size()) {
      size_t bytes = whiteSpaceBytes(std::string_view(text).substr(at));
      if (bytes == 0)
        break;
      at += bytes;
    }
    return at;
  }

  bool holds(size_t at, std::string_view word) const { return std::string_view(text).substr(at, word.size()) == word; }

  // The end of a tag that closes at `at`, including the white space that it strips; npos if no tag closes there.
  size_t closeEnd(size_t at, std::string_view close, bool keepsWithPlus, bool trims) const {
    if (holds(at, "-") && holds(at + 1, close))
      return skipSpace(at + 1 + close.size());
    if (keepsWithPlus && holds(at, "+") && holds(at + 1, close))
      return at + 1 + close.size();
    if (!holds(at, close))
      return std::string::npos;
    at += close.size();
    return trims && at < text.size() && text[at] == '\n' ? at + 1 : at;
  }

  // The end of the `{% word %}` that begins at `open`, or npos if it is another tag.
  size_t wordTagEnd(size_t open, std::string_view word, bool isEnd) const {
    if (!holds(open, "{%"))
      return std::string::npos;
    size_t at = skipSpace(open + 2 + (signAt(open + 2) == ' ' ? 0 : 1));
    return holds(at, word) ? closeEnd(skipSpace(at + word.size()), "%}", isEnd, isEnd) : std::string::npos;
  }

  Status readTag(size_t open) {
    char mark = text[open + 1], sign = signAt(open + 2);
    addData(open, sign, mark == '{');
    if (mark == '#')
      return skipComment();
    if (size_t begin = wordTagEnd(open, "raw", false); begin != std::string::npos)
      return readRaw(begin);
    add(mark == '{' ? Token::Kind::PrintBegin : Token::Kind::TagBegin, text.substr(open, 2));
    moveTo(open + 2 + (sign == ' ' ? 0 : 1));
    return readTokens(mark == '{');
  }

  Status skipComment() {
    // The closing sign is part of the comment's end: {#-#} is a complete comment.
    size_t begin = place + 2 + (signAt(place + 2) == ' ' ? 0 : 1);
    size_t close = text.find("#}", begin);
    if (close == std::string::npos)
      return syntaxError(line, "a comment has no end #}");
    char sign = close > begin ? signAt(close - 1) : ' ';
    moveTo(closeEnd(sign == ' ' ? close : close - 1, "#}", true, true));
    return Success();
  }

  Status readRaw(size_t begin) {
    int opened = line;
    moveTo(begin);
    for (size_t open = text.find("{%", begin); open != std::string::npos; open = text.find("{%", open + 1)) {
      size_t end = wordTagEnd(open, "endraw", true);
      if (end == std::string::npos)
        continue;
      addData(open, signAt(open + 2));
      moveTo(end);
      return Success();
    }
    return syntaxError(opened, "a block of raw text has no {% endraw %}");
  }

  // Reads tokens up to the end of the tag.
  Status readTokens(bool isPrint) {
    int opened = line;
    std::string brackets; // still open
    while (true) {
      if (brackets.empty()) {
        size_t end = isPrint ? closeEnd(place, "}}", false, false) : closeEnd(place, "%}", true, true);
        if (end != std::string::npos) {
          add(isPrint ? Token::Kind::PrintEnd : Token::Kind::TagEnd, isPrint ? "}}" : "%}");
          moveTo(end);
          return Success();
        }
      }
      if (size_t begin = skipSpace(place); begin != place) {
        moveTo(begin);
        continue;
      }
      if (place == text.size())
        return syntaxError(opened, "a tag has no end ", isPrint ? "}}" : "%}");
      HEDDLE_CHECK(readToken(brackets));
    }
  }

  Status readToken(std::string &brackets) {
    std::string_view rest = std::string_view(text).substr(place);
    if (size_t bytes = numberBytes(rest)) {
      Result<Value> number = readNumber(rest.substr(0, bytes));
      if (!number.ok())
        return syntaxError(line, number.message());
      add(Token::Kind::Number, std::string(rest.substr(0, bytes)), *number);
      moveTo(place + bytes);
      return Success();
    }
    if (size_t bytes = nameBytes(rest)) {
      add(Token::Kind::Name, std::string(rest.substr(0, bytes)));
      moveTo(place + bytes);
      return Success();
    }
    if (rest[0] == '"' || rest[0] == '\'')
      return readString(rest);
    for (std::string_view sign : kSigns)
      if (rest.starts_with(sign))
        return readSign(sign, brackets);
    return syntaxError(line, "no token begins with '", rest.substr(0, characterBytes(rest, 0)), "'");
  }

  static size_t nameBytes(std::string_view rest) {
    size_t end = 0;
    while (end < rest.size()) {
      auto [point, bytes] = firstCharacter(rest.substr(end));
      if (point != '_' && !isLetter(point) && !isNumber(point))
        break;
      end += bytes;
    }
    return end;
  }

  Status readString(std::string_view rest) {
    size_t end = 1;
    while (end < rest.size() && rest[end] != rest[0])
      end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size())
      return syntaxError(line, "a string has no closing ", rest.substr(0, 1));
    Result<std::string> content = unescapedString(rest.substr(1, end - 1));
    if (!content.ok())
      return syntaxError(line, content.message());
    add(Token::Kind::String, std::move(*content));
    moveTo(place + end + 1);
    return Success();
  }

  Status readSign(std::string_view sign, std::string &brackets) {
    if (sign == "(" || sign == "[" || sign == "{") {
      brackets += sign == "(" ? ')' : sign == "[" ? ']' : '}';
    } else if (sign == ")" || sign == "]" || sign == "}") {
      if (brackets.empty() || brackets.back() != sign[0])
        return syntaxError(line, "unexpected '", sign, "'",
                           brackets.empty() ? "" : std::string(", where '") + brackets.back() + "' is missing");
      brackets.pop_back();
    }
    add(Token::Kind::Sign, std::string(sign));
    moveTo(place + sign.size());
    return Success();
  }

  std::string text;
  size_t place = 0;
  int line = 1;
  std::vector<Token> tokens;
};

} // namespace

Result<std::vector<Token>> cutIntoTokens(std::string_view text) { return Lexer(withPlainLineEnds(text)).run(); }

} // namespace heddle::chat
