#include "runtime/chat/Parser.h"

#include <algorithm>
#include <array>

namespace heddle::chat {
namespace {

using Kind = Expression::Kind;

// Walking a tree of this depth takes a few hundred KiB of stack.
constexpr unsigned kDeepestTree = 400;

constexpr SignedOperator kComparisons[] = {{"==", Operator::Equal},  {"!=", Operator::NotEqual},
                                           {"<", Operator::Less},    {"<=", Operator::LessEqual},
                                           {">", Operator::Greater}, {">=", Operator::GreaterEqual}};
constexpr SignedOperator kSums[] = {{"+", Operator::Add}, {"-", Operator::Subtract}};
constexpr SignedOperator kProducts[] = {
    {"*", Operator::Multiply}, {"/", Operator::Divide}, {"//", Operator::FloorDivide}, {"%", Operator::Modulo}};
constexpr SignedOperator kPowers[] = {{"**", Operator::Power}};

const SignedOperator *operatorAt(std::span<const SignedOperator> operators, const Token &token) {
  for (const SignedOperator &each : operators)
    if (token.kind == Token::Kind::Sign && token.text == each.sign)
      return &each;
  return nullptr;
}

template <typename... Parts> std::vector<ExpressionPtr> listOf(Parts... parts) {
  std::vector<ExpressionPtr> list;
  (list.push_back(std::move(parts)), ...);
  return list;
}

} // namespace

Result<ExpressionPtr> Parser::checkedDepth(ExpressionPtr node) const {
  auto below = [&](const ExpressionPtr &part) { node->depth = std::max(node->depth, part ? part->depth + 1 : 0); };
  for (const ExpressionPtr &operand : node->operands)
    below(operand);
  for (const Argument &argument : node->arguments)
    below(argument.value);
  if (node->depth > kDeepestTree)
    return syntaxError(node->line, "an expression is nested or chained more than ", kDeepestTree, " deep");
  return node;
}

Result<ExpressionPtr> Parser::node(Kind kind, int line, std::vector<ExpressionPtr> operands) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  node->operands = std::move(operands);
  return checkedDepth(std::move(node));
}

Result<ExpressionPtr> Parser::parseWords(std::string_view word, Kind kind, Parse parseOperand) {
  HEDDLE_ASSIGN(ExpressionPtr left, (this->*parseOperand)());
  while (skipName(word)) {
    HEDDLE_ASSIGN(ExpressionPtr right, (this->*parseOperand)());
    int line = left->line;
    HEDDLE_ASSIGN(left, node(kind, line, listOf(std::move(left), std::move(right))));
  }
  return left;
}

Result<ExpressionPtr> Parser::parseSigns(std::span<const SignedOperator> operators, Parse parseOperand) {
  HEDDLE_ASSIGN(ExpressionPtr left, (this->*parseOperand)());
  while (const SignedOperator *found = operatorAt(operators, current())) {
    next();
    HEDDLE_ASSIGN(ExpressionPtr right, (this->*parseOperand)());
    int line = left->line;
    HEDDLE_ASSIGN(left, node(Kind::Binary, line, listOf(std::move(left), std::move(right))));
    left->operators = {found->op};
  }
  return left;
}

Result<std::vector<ExpressionPtr>> Parser::parseListed(std::string_view end, bool hasKeys) {
  std::vector<ExpressionPtr> items;
  while (!atSign(end)) {
    if (!items.empty()) {
      HEDDLE_CHECK(expectSign(","));
      if (atSign(end))
        break;
    }
    HEDDLE_ASSIGN(items.emplace_back(), parseExpression());
    if (hasKeys) {
      HEDDLE_CHECK(expectSign(":"));
      HEDDLE_ASSIGN(items.emplace_back(), parseExpression());
    }
  }
  next();
  return items;
}

// An expression, or several separated by commas.
Result<ExpressionPtr> Parser::parseTuple(bool withConditions, std::string_view end, bool mayBeEmpty) {
  int line = current().line;
  std::vector<ExpressionPtr> items;
  bool isTuple = false;
  auto atEnd = [&] {
    return at(Token::Kind::PrintEnd) || at(Token::Kind::TagEnd) || at(Token::Kind::End) || atSign(")") ||
           (!end.empty() && atName(end));
  };
  while (!atEnd()) {
    HEDDLE_ASSIGN(items.emplace_back(), withConditions ? parseExpression() : parseOr());
    if (!skipSign(","))
      break;
    isTuple = true;
  }
  if (!isTuple && !items.empty())
    return std::move(items.front());
  if (items.empty() && !mayBeEmpty)
    return unexpected("an expression");
  return node(Kind::Tuple, line, std::move(items));
}

Result<ExpressionPtr> Parser::parseExpression() {
  Nesting nesting(depth);
  HEDDLE_CHECK(checkNesting());
  int line = current().line;
  HEDDLE_ASSIGN(ExpressionPtr value, parseOr());
  while (skipName("if")) {
    HEDDLE_ASSIGN(ExpressionPtr test, parseOr());
    ExpressionPtr otherwise;
    if (skipName("else")) {
      HEDDLE_ASSIGN(otherwise, parseExpression());
    }
    HEDDLE_ASSIGN(value,
                  node(Kind::Conditional, line, listOf(std::move(test), std::move(value), std::move(otherwise))));
  }
  return value;
}

Result<ExpressionPtr> Parser::parseOr() { return parseWords("or", Kind::Or, &Parser::parseAnd); }
Result<ExpressionPtr> Parser::parseAnd() { return parseWords("and", Kind::And, &Parser::parseNot); }

Result<ExpressionPtr> Parser::parseNot() {
  int line = current().line;
  if (!skipName("not"))
    return parseComparison();
  Nesting nesting(depth);
  HEDDLE_CHECK(checkNesting());
  HEDDLE_ASSIGN(ExpressionPtr value, parseNot());
  return node(Kind::Not, line, listOf(std::move(value)));
}

Result<ExpressionPtr> Parser::parseComparison() {
  int line = current().line;
  std::vector<ExpressionPtr> operands;
  std::vector<Operator> operators;
  HEDDLE_ASSIGN(operands.emplace_back(), parseSum());
  while (true) {
    if (const SignedOperator *found = operatorAt(kComparisons, current())) {
      operators.push_back(found->op);
      next();
    } else if (skipName("in")) {
      operators.push_back(Operator::In);
    } else if (atName("not") && tokens[place + 1].kind == Token::Kind::Name && tokens[place + 1].text == "in") {
      place += 2;
      operators.push_back(Operator::NotIn);
    } else {
      break;
    }
    HEDDLE_ASSIGN(operands.emplace_back(), parseSum());
  }
  if (operators.empty())
    return std::move(operands.front());
  HEDDLE_ASSIGN(ExpressionPtr chain, node(Kind::Compare, line, std::move(operands)));
  chain->operators = std::move(operators);
  return chain;
}

Result<ExpressionPtr> Parser::parseSum() { return parseSigns(kSums, &Parser::parseConcatenation); }

Result<ExpressionPtr> Parser::parseConcatenation() {
  int line = current().line;
  std::vector<ExpressionPtr> parts;
  do {
    HEDDLE_ASSIGN(parts.emplace_back(), parseProduct());
  } while (skipSign("~"));
  if (parts.size() == 1)
    return std::move(parts.front());
  return node(Kind::Concatenate, line, std::move(parts));
}

Result<ExpressionPtr> Parser::parseProduct() { return parseSigns(kProducts, &Parser::parsePower); }

// Unlike in Python, powers in jinja2 are left-associative, and a sign binds more tightly than a power.
Result<ExpressionPtr> Parser::parsePower() { return parseSigns(kPowers, &Parser::parseFiltered); }

Result<ExpressionPtr> Parser::parseFiltered() {
  Nesting nesting(depth);
  HEDDLE_CHECK(checkNesting());
  HEDDLE_ASSIGN(ExpressionPtr value, parseUnary());
  return parseFilters(std::move(value));
}

Result<ExpressionPtr> Parser::parseUnary() {
  int line = current().line;
  ExpressionPtr value;
  if (atSign("-") || atSign("+")) {
    Nesting nesting(depth);
    HEDDLE_CHECK(checkNesting());
    Kind kind = next().text == "-" ? Kind::Negate : Kind::Plus;
    HEDDLE_ASSIGN(ExpressionPtr operand, parseUnary());
    HEDDLE_ASSIGN(value, node(kind, line, listOf(std::move(operand))));
  } else {
    HEDDLE_ASSIGN(value, parsePrimary());
  }
  return parsePostfix(std::move(value));
}

Result<ExpressionPtr> Parser::parsePrimary() {
  const Token token = current();
  HEDDLE_ASSIGN(ExpressionPtr leaf, node(Kind::Constant, token.line, {}));
  if (token.kind == Token::Kind::Name) {
    next();
    if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
      leaf->constant = Value(token.text == "true" || token.text == "True");
    } else if (token.text != "none" && token.text != "None") {
      leaf->kind = Kind::Name;
      leaf->symbol = symbolOf(token.text);
      for (MacroDefinition *macro : macros) {
        macro->usesCaller |= token.text == "caller";
        macro->usesArguments |= token.text == "varargs";
        macro->usesNamed |= token.text == "kwargs";
      }
    }
    return leaf;
  }
  if (token.kind == Token::Kind::String) {
    std::string whole;
    while (at(Token::Kind::String))
      whole += next().text;
    leaf->constant = makeText(std::move(whole));
    return leaf;
  }
  if (token.kind == Token::Kind::Number) {
    leaf->constant = next().number;
    return leaf;
  }
  if (skipSign("(")) {
    HEDDLE_ASSIGN(ExpressionPtr inner, parseTuple(true, "", true));
    HEDDLE_CHECK(expectSign(")"));
    return inner;
  }
  if (atSign("[") || atSign("{")) {
    bool isDict = next().text == "{";
    HEDDLE_ASSIGN(std::vector<ExpressionPtr> items, parseListed(isDict ? "}" : "]", isDict));
    return node(isDict ? Kind::Dict : Kind::List, token.line, std::move(items));
  }
  return unexpected("an expression");
}

Result<ExpressionPtr> Parser::parsePostfix(ExpressionPtr value) {
  while (atSign(".") || atSign("[") || atSign("(")) {
    HEDDLE_ASSIGN(value, atSign("(") ? parseCall(std::move(value)) : parseSubscript(std::move(value)));
  }
  return value;
}

Result<ExpressionPtr> Parser::parseFilters(ExpressionPtr value) {
  while (true) {
    if (skipSign("|")) {
      HEDDLE_ASSIGN(value, parseFilter(std::move(value)));
    } else if (skipName("is")) {
      HEDDLE_ASSIGN(value, parseTest(std::move(value)));
    } else if (atSign("(")) {
      HEDDLE_ASSIGN(value, parseCall(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<std::string> Parser::parseDottedName() {
  std::string name;
  do {
    if (!at(Token::Kind::Name))
      return unexpected("a name");
    name += (name.empty() ? "" : ".") + next().text;
  } while (skipSign("."));
  return name;
}

Result<ExpressionPtr> Parser::parseFilter(ExpressionPtr value) {
  int line = current().line;
  HEDDLE_ASSIGN(std::string name, parseDottedName());
  HEDDLE_ASSIGN(ExpressionPtr result, node(Kind::Filter, line, listOf(std::move(value))));
  result->filter = findFilter(name);
  result->name = std::move(name);
  if (atSign("("))
    HEDDLE_CHECK(parseArguments(*result));
  return checkedDepth(std::move(result));
}

Result<ExpressionPtr> Parser::parseTest(ExpressionPtr value) {
  int line = current().line;
  bool isNegated = skipName("not");
  HEDDLE_ASSIGN(std::string name, parseDottedName());
  HEDDLE_ASSIGN(ExpressionPtr result, node(Kind::Test, line, listOf(std::move(value))));
  result->test = findTest(name);
  result->name = std::move(name);
  bool hasArgument =
      at(Token::Kind::Name) || at(Token::Kind::String) || at(Token::Kind::Number) || atSign("[") || atSign("{");
  if (atSign("(")) {
    HEDDLE_CHECK(parseArguments(*result));
  } else if (hasArgument && !atName("else") && !atName("or") && !atName("and")) {
    if (atName("is"))
      return syntaxError(current().line, "a test follows a test; put the first into parentheses");
    HEDDLE_ASSIGN(ExpressionPtr argument, parsePrimary());
    HEDDLE_ASSIGN(argument, parsePostfix(std::move(argument)));
    result->arguments.push_back(Argument{Argument::Form::Positional, "", std::move(argument)});
  }
  HEDDLE_ASSIGN(result, checkedDepth(std::move(result)));
  if (!isNegated)
    return result;
  return node(Kind::Not, line, listOf(std::move(result)));
}

Result<ExpressionPtr> Parser::parseSubscript(ExpressionPtr value) {
  int line = current().line;
  if (skipSign(".")) {
    if (at(Token::Kind::Number) && current().number.whole()) {
      HEDDLE_ASSIGN(ExpressionPtr index, node(Kind::Constant, line, {}));
      index->constant = next().number;
      return node(Kind::Item, line, listOf(std::move(value), std::move(index)));
    }
    if (!at(Token::Kind::Name))
      return unexpected("a name behind the dot");
    HEDDLE_ASSIGN(ExpressionPtr result, node(Kind::Attribute, line, listOf(std::move(value))));
    result->name = next().text;
    return result;
  }
  next();
  Nesting nesting(depth);
  HEDDLE_CHECK(checkNesting());
  ExpressionPtr index;
  if (!atSign(":")) {
    HEDDLE_ASSIGN(index, parseExpression());
  }
  if (atSign(":"))
    return parseSlice(std::move(value), std::move(index));
  if (atSign(",")) { // obj[1, 2]
    std::vector<ExpressionPtr> parts = listOf(std::move(index));
    while (skipSign(",")) {
      HEDDLE_ASSIGN(parts.emplace_back(), parseExpression());
    }
    HEDDLE_ASSIGN(index, node(Kind::Tuple, line, std::move(parts)));
  }
  HEDDLE_CHECK(expectSign("]"));
  return node(Kind::Item, line, listOf(std::move(value), std::move(index)));
}

Result<ExpressionPtr> Parser::parseSlice(ExpressionPtr value, ExpressionPtr lower) {
  int line = current().line;
  std::array<ExpressionPtr, 2> others; // upper, step
  for (ExpressionPtr &bound : others) {
    if (!skipSign(":"))
      break;
    if (!atSign(":") && !atSign("]")) {
      HEDDLE_ASSIGN(bound, parseExpression());
    }
  }
  HEDDLE_CHECK(expectSign("]"));
  return node(Kind::Slice, line,
              listOf(std::move(value), std::move(lower), std::move(others[0]), std::move(others[1])));
}

Result<ExpressionPtr> Parser::parseCall(ExpressionPtr value) {
  int line = current().line;
  HEDDLE_ASSIGN(ExpressionPtr result, node(Kind::Call, line, listOf(std::move(value))));
  HEDDLE_CHECK(parseArguments(*result));
  return checkedDepth(std::move(result));
}

Status Parser::parseArguments(Expression &owner) {
  using Form = Argument::Form;
  HEDDLE_CHECK(expectSign("("));
  Form last = Form::Positional;
  for (bool isFirst = true; !atSign(")"); isFirst = false) {
    if (!isFirst) {
      HEDDLE_CHECK(expectSign(","));
      if (atSign(")"))
        break;
    }
    Argument argument{Form::Positional, "", nullptr};
    if (skipSign("*"))
      argument.form = Form::Unpacked;
    else if (skipSign("**"))
      argument.form = Form::UnpackedNamed;
    else if (at(Token::Kind::Name) && tokens[place + 1].kind == Token::Kind::Sign && tokens[place + 1].text == "=") {
      argument.form = Form::Named;
      argument.name = next().text;
      next();
    }
    if (argument.form == Form::Positional
            ? last != Form::Positional
            : last == Form::UnpackedNamed || (argument.form == Form::Unpacked && last == Form::Unpacked))
      return syntaxError(current().line, "an argument without a name follows one with a name");
    last = argument.form;
    HEDDLE_ASSIGN(argument.value, parseExpression());
    owner.arguments.push_back(std::move(argument));
  }
  return expectSign(")");
}

} // namespace heddle::chat
