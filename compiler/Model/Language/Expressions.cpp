// Parses expressions.
#include "compiler/Model/Language/TextParser.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::heddle::language;

namespace {

/// The precedence of a binary operator; 0 for other tokens.
int precedenceOf(const Token &token) {
  if (token.kind == Token::Name)
    return llvm::StringSwitch<int>(token.text).Case("or", 1).Case("and", 2).Default(0);
  if (token.kind != Token::Mark)
    return 0;
  return llvm::StringSwitch<int>(token.text)
      .Cases({"==", "!=", "<", ">", "<=", ">="}, 4)
      .Cases({"+", "-"}, 5)
      .Cases({"*", "/", "%", "@"}, 6)
      .Case("^", 8)
      .Default(0);
}
constexpr int kNot = 3, kNegate = 7, kPower = 8;

ExpressionPtr make(Expression::Kind kind, LocationAttr where) { return std::make_unique<Expression>(kind, where); }

} // namespace

ExpressionPtr TextParser::parseList() {
  LocationAttr where = peek().where;
  ExpressionPtr first = parseExpression();
  if (!first || !peek().is(","))
    return first;
  ExpressionPtr list = make(Expression::List, where);
  list->operands.push_back(std::move(first));
  while (takeIf(",")) {
    skipLines();
    if (!list->operands.emplace_back(parseExpression()))
      return nullptr;
  }
  return list;
}

ExpressionPtr TextParser::parseExpression(int precedence) {
  Depth depth(*this);
  if (depth.tooDeep())
    return nullptr;
  ExpressionPtr left = parseUnary();
  while (left) {
    const Token &token = peek();
    int its = precedenceOf(token);
    if (its <= precedence)
      break;
    ExpressionPtr binary = make(Expression::Binary, token.where);
    binary->text = token.text.str();
    take();
    skipLines();
    ExpressionPtr right = parseExpression(its == kPower ? its - 1 : its); // a ^ b ^ c is a ^ (b ^ c)
    if (!right)
      return nullptr;
    binary->operands.push_back(std::move(left));
    binary->operands.push_back(std::move(right));
    left = std::move(binary);
  }
  return left;
}

ExpressionPtr TextParser::parseUnary() {
  LocationAttr where = peek().where;
  bool negates = peek().is("-"), inverts = peek().isName("not");
  if (!negates && !inverts)
    return parsePostfix();
  take();
  ExpressionPtr operand = parseExpression(negates ? kNegate : kNot);
  if (!operand)
    return nullptr;
  ExpressionPtr unary = make(negates ? Expression::Negate : Expression::Not, where);
  unary->operands.push_back(std::move(operand));
  return unary;
}

ExpressionPtr TextParser::parsePostfix() {
  ExpressionPtr value = parsePrimary();
  while (value && peek().is("[")) {
    ExpressionPtr index = make(Expression::Index, take().where);
    ExpressionPtr at = parseExpression();
    if (!at || !expect("]", "behind an index"))
      return nullptr;
    index->operands.push_back(std::move(value));
    index->operands.push_back(std::move(at));
    value = std::move(index);
  }
  return value;
}

ExpressionPtr TextParser::parsePrimary() {
  const Token &token = peek();
  if (token.kind == Token::Number)
    return parseNumber();
  if (token.kind == Token::String) {
    ExpressionPtr string = make(Expression::String, token.where);
    string->text = take().text.str();
    return string;
  }
  if (token.is("(")) {
    take();
    skipLines();
    ExpressionPtr inner = parseExpression();
    return inner && expectEnd(")", "behind an expression in parentheses") ? std::move(inner) : nullptr;
  }
  if (token.is("["))
    return parseBrackets();
  if (token.isName("true") || token.isName("false")) {
    ExpressionPtr flag = make(Expression::Flag, token.where);
    flag->number = take().text == "true";
    return flag;
  }
  if (token.isName("weight") && peek(1).kind == Token::Name && peek(2).is("[")) // otherwise a plain name
    return parseWeight();
  if (token.isName("if"))
    return parseIf();
  if (token.isName("repeat"))
    return parseRepeat();
  if (token.isName("scan"))
    return parseScan();
  if (token.kind != Token::Name || isKeyword(token.text))
    return fail("a value");
  if (peek(1).is("("))
    return parseCall();
  ExpressionPtr variable = make(Expression::Variable, token.where);
  variable->text = take().text.str();
  return variable;
}

/// [value, value, ...]
ExpressionPtr TextParser::parseBrackets() {
  ExpressionPtr list = make(Expression::List, take().where);
  for (skipLines(); !peek().is("]"); skipLines()) {
    if (!list->operands.emplace_back(parseExpression()))
      return nullptr;
    skipLines();
    if (!takeIf(","))
      break;
  }
  return expectEnd("]", "or ',' behind an element of a list") ? std::move(list) : nullptr;
}

ExpressionPtr TextParser::parseNumber() {
  const Token &token = take();
  ExpressionPtr number = make(Expression::Number, token.where);
  number->isWhole = token.text.find_first_of(".eE") == StringRef::npos;
  if (token.text.getAsDouble(number->number, /*AllowInexact=*/true) || (number->isWhole && number->number > 1e15)) {
    emitError(Location(token.where)) << "the number is out of range; whole numbers go to 10^15, others to 10^308";
    return nullptr;
  }
  return number;
}

ExpressionPtr TextParser::parseCall() {
  ExpressionPtr call = make(Expression::Call, peek().where);
  call->text = take().text.str();
  if (!parseArguments(*call))
    return nullptr;
  if (peek().is("{") && peek(1).is("|"))
    if (!(call->block = parseBlockWithParameters()))
      return nullptr;
  return call;
}

bool TextParser::parseArguments(Expression &call) {
  take();
  for (skipLines(); !peek().is(")"); skipLines()) {
    Argument &argument = call.arguments.emplace_back();
    argument.where = peek().where;
    if (peek().kind == Token::Name && !isKeyword(peek().text) && peek(1).is("=")) {
      argument.name = take().text.str();
      take();
      skipLines();
    }
    if (!(argument.value = parseExpression()))
      return false;
    skipLines();
    if (!takeIf(","))
      break;
  }
  return expectEnd(")", "or ',' behind an argument of '" + call.text + "'");
}

/// weight name[rows, columns] ~ start
ExpressionPtr TextParser::parseWeight() {
  take();
  ExpressionPtr weight = make(Expression::Weight, peek().where);
  weight->text = take().text.str();
  take();
  do
    if (!weight->operands.emplace_back(parseExpression()))
      return nullptr;
  while (takeIf(","));
  if (!expect("]", "behind a weight's shape"))
    return nullptr;
  if (takeIf("~") && !(weight->start = parsePostfix()))
    return nullptr;
  return weight;
}

ExpressionPtr TextParser::parseIf() {
  ExpressionPtr choice = make(Expression::If, take().where);
  ExpressionPtr condition = parseExpression();
  if (!condition || !(choice->block = parseBlock("'if'")))
    return nullptr;
  choice->operands.push_back(std::move(condition));
  size_t ahead = 0;
  while (peek(ahead).kind == Token::NewLine)
    ++ahead;
  if (!peek(ahead).isName("else"))
    return choice;
  skipLines();
  take();
  if (peek().isName("if")) {
    Depth depth(*this);
    if (depth.tooDeep() || !(choice->otherwise = parseIf()))
      return nullptr;
  } else if (!(choice->otherBlock = parseBlock("'else'"))) {
    return nullptr;
  }
  return choice;
}

/// repeat count [as number] with state = start, ... { ... }
ExpressionPtr TextParser::parseRepeat() {
  ExpressionPtr repeat = make(Expression::Repeat, take().where);
  ExpressionPtr count = parseExpression();
  if (!count)
    return nullptr;
  repeat->operands.push_back(std::move(count));
  if (takeIfName("as") && !parseName(repeat->rows.emplace_back().name, "a name for the number of the repetition"))
    return nullptr;
  if (!takeIfName("with"))
    return fail("'with' and what the repetition carries on, as in `repeat 6 with x = start { layer(x) }`");
  if (!parseStates(repeat->states))
    return nullptr;
  repeat->block = parseBlock("'repeat'");
  return repeat->block ? std::move(repeat) : nullptr;
}

/// state = start, ...
bool TextParser::parseStates(std::vector<State> &states) {
  do {
    skipLines();
    State &state = states.emplace_back();
    if (!parseName(state.name, "a state's name") || !expect("=", "and what the state starts as"))
      return false;
    if (!(state.start = parseExpression()))
      return false;
  } while (takeIf(","));
  return true;
}

/// scan [reversed] rows as name, ... with state = start, ... { ... }
ExpressionPtr TextParser::parseScan() {
  ExpressionPtr scan = make(Expression::Scan, take().where);
  if (takeIfName("reversed"))
    scan->text = "reversed";
  do {
    State &rows = scan->rows.emplace_back();
    if (!(rows.start = parseExpression()))
      return nullptr;
    if (!takeIfName("as"))
      return fail("'as' and a name for the row of each token, as in `scan e as x with h = zeros(width) { rnn(x, h) }`");
    if (!parseName(rows.name, "the row's name"))
      return nullptr;
  } while (takeIf(","));
  if (!takeIfName("with"))
    return fail("'with' and the states, as in `scan e as x with h = zeros(width) { rnn(x, h) }`");
  if (!parseStates(scan->states))
    return nullptr;
  scan->block = parseBlock("'scan'");
  return scan->block ? std::move(scan) : nullptr;
}
