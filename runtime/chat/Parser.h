// Makes the syntax tree of a template from its tokens.
#pragma once

#include "runtime/chat/Lexer.h"
#include "runtime/chat/Syntax.h"

#include <initializer_list>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace heddle::chat {

struct SignedOperator {
  std::string_view sign;
  Operator op;
};

class Parser {
public:
  explicit Parser(std::vector<Token> tokens);

  Result<Program> parse();

private:
  // Statements (ParseStatements.cpp).
  Result<Body> parseBody(std::initializer_list<std::string_view> ends);
  Status parseStatement(Body &body);
  Result<Body> parseBlock(std::string_view end);
  Status parseFor(Statement &statement);
  Status parseIf(Statement &statement);
  Status parseSet(Statement &statement);
  Status parseWith(Statement &statement);
  Status parseMacro(Statement &statement);
  Status parseCallBlock(Statement &statement);
  Status parseFilterBlock(Statement &statement);
  Status addPrint(Body &body, Result<ExpressionPtr> value);
  Status parseParameters(MacroDefinition &macro);
  Status parseMacroBody(MacroDefinition &macro, std::string_view end);
  // `end` is a word that ends the target, such as `in`.
  Result<Target> parseTarget(std::string_view end = "");
  Result<Target> parseSimpleTarget();

  // Expressions (ParseExpressions.cpp), lowest precedence first.
  Result<ExpressionPtr> parseTuple(bool withConditions = true, std::string_view end = "", bool mayBeEmpty = false);
  Result<ExpressionPtr> parseExpression();
  Result<ExpressionPtr> parseOr();
  Result<ExpressionPtr> parseAnd();
  Result<ExpressionPtr> parseNot();
  Result<ExpressionPtr> parseComparison();
  Result<ExpressionPtr> parseSum();
  Result<ExpressionPtr> parseConcatenation();
  Result<ExpressionPtr> parseProduct();
  Result<ExpressionPtr> parsePower();
  Result<ExpressionPtr> parseFiltered();
  Result<ExpressionPtr> parseUnary();
  Result<ExpressionPtr> parsePrimary();
  Result<ExpressionPtr> parsePostfix(ExpressionPtr value);
  Result<ExpressionPtr> parseFilters(ExpressionPtr value);
  Result<ExpressionPtr> parseFilter(ExpressionPtr value);
  Result<ExpressionPtr> parseTest(ExpressionPtr value);
  Result<ExpressionPtr> parseSubscript(ExpressionPtr value);
  Result<ExpressionPtr> parseSlice(ExpressionPtr value, ExpressionPtr lower);
  Result<ExpressionPtr> parseCall(ExpressionPtr value);
  Status parseArguments(Expression &owner);
  Result<std::string> parseDottedName();

  // Left-associative operators between operands: a word, or signs.
  using Parse = Result<ExpressionPtr> (Parser::*)();
  Result<ExpressionPtr> parseWords(std::string_view word, Expression::Kind kind, Parse parseOperand);
  Result<ExpressionPtr> parseSigns(std::span<const SignedOperator> operators, Parse parseOperand);
  // The items of a list, or the keys and values of a dictionary, and the sign `end`.
  Result<std::vector<ExpressionPtr>> parseListed(std::string_view end, bool hasKeys);

  // A node with these operands. Fails if the tree gets too deep for the recursive functions that walk it.
  Result<ExpressionPtr> node(Expression::Kind kind, int line, std::vector<ExpressionPtr> operands);
  Result<ExpressionPtr> checkedDepth(ExpressionPtr node) const;

  // Tokens.
  const Token &current() const { return tokens[place]; }
  const Token &next() { return tokens[place + 1 < tokens.size() ? place++ : place]; }
  bool at(Token::Kind kind) const { return current().kind == kind; }
  bool atName(std::string_view name) const { return at(Token::Kind::Name) && current().text == name; }
  bool atSign(std::string_view sign) const { return at(Token::Kind::Sign) && current().text == sign; }
  bool skipName(std::string_view name);
  bool skipSign(std::string_view sign);
  Status expectSign(std::string_view sign);
  Status expect(Token::Kind kind, std::string_view what);
  Error unexpected(std::string_view expected) const;

  Symbol symbolOf(const std::string &name);

  // Counts the parser's recursion depth while it lives.
  struct Nesting {
    explicit Nesting(unsigned &depth) : depth(++depth) {}
    Nesting(const Nesting &) = delete;
    ~Nesting() { --depth; }
    unsigned &depth;
  };
  Status checkNesting() const;

  std::vector<Token> tokens;
  size_t place = 0;
  unsigned depth = 0;
  Program program;
  std::unordered_map<std::string, Symbol> symbols;
  std::vector<MacroDefinition *> macros; // macros being parsed, outermost first
  std::vector<bool> loops;               // loops being parsed in the innermost macro
};

} // namespace heddle::chat
