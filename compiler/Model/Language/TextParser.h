// The state of the parser of model texts.
#pragma once

#include "compiler/Model/Language/Lexer.h"
#include "compiler/Model/Language/Parser.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir::heddle::language {

/// Maximum nesting of expressions and blocks: far more than a person writes, and safe for the stack.
inline constexpr int kDeepest = 100;

bool isKeyword(StringRef name);

/// A recursive-descent parser. A method that fails has reported an error and returns null or false; its callers return
/// at once.
class TextParser {
public:
  TextParser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  FailureOr<Text> parse();

private:
  //===-- Tokens ------------------------------------------------------------------------------------------------===//

  const Token &peek(size_t ahead = 0) { return tokens[std::min(next + ahead, tokens.size() - 1)]; }
  const Token &take() {
    const Token &token = peek();
    next = std::min(next + 1, tokens.size() - 1);
    return token;
  }
  bool takeIf(StringRef mark) {
    bool matches = peek().is(mark);
    if (matches)
      take();
    return matches;
  }
  bool takeIfName(StringRef name) {
    bool matches = peek().isName(name);
    if (matches)
      take();
    return matches;
  }
  void skipLines() {
    while (peek().kind == Token::NewLine)
      take();
  }
  std::nullptr_t fail(const Twine &expected) {
    emitError(Location(peek().where)) << "expected " << expected << ", got " << peek().describe();
    return nullptr;
  }
  bool expect(StringRef mark, const Twine &place) { return takeIf(mark) || (fail("'" + mark + "' " + place), false); }
  /// Expects the mark that closes a list. New lines may precede it.
  bool expectEnd(StringRef mark, const Twine &place) {
    skipLines();
    return expect(mark, place);
  }
  bool parseName(Name &name, const Twine &what);
  bool endLine();

  //===-- Declarations ------------------------------------------------------------------------------------------===//

  bool parseDeclaration(Text &text);
  bool parseParameter(Parameter &parameter, bool ofText);
  bool parseDefinition(Text &text);
  bool isPart();
  bool parsePart(Text &text);
  bool parsePublished(Text &text);

  //===-- Statements and expressions ----------------------------------------------------------------------------===//

  bool parseStatement(Statement &statement);
  bool parseStatements(Body &block);
  std::unique_ptr<Body> parseBlock(const Twine &owner);
  std::unique_ptr<Body> parseBlockWithParameters();
  ExpressionPtr parseList();
  ExpressionPtr parseExpression(int precedence = 0);
  ExpressionPtr parseUnary();
  ExpressionPtr parsePostfix();
  ExpressionPtr parsePrimary();
  ExpressionPtr parseNumber();
  ExpressionPtr parseBrackets();
  ExpressionPtr parseCall();
  bool parseArguments(Expression &call);
  ExpressionPtr parseWeight();
  ExpressionPtr parseIf();
  ExpressionPtr parseRepeat();
  ExpressionPtr parseScan();
  bool parseStates(std::vector<State> &states);

  /// Counts the nesting of the parser, and reports an error beyond kDeepest.
  struct Depth {
    explicit Depth(TextParser &parser) : parser(parser) { ++parser.depth; }
    ~Depth() { --parser.depth; }
    bool tooDeep() {
      if (parser.depth <= kDeepest)
        return false;
      emitError(Location(parser.peek().where))
          << "expressions and blocks nest more than " << kDeepest << " deep; give parts of them names of their own";
      return true;
    }
    TextParser &parser;
  };

  std::vector<Token> tokens;
  size_t next = 0;
  int depth = 0;
};

} // namespace mlir::heddle::language
