#include "compiler/Model/Language/Parser.h"

#include "compiler/Model/Language/Lexer.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::heddle::language;

/// Maximum nesting of expressions and blocks: far more than a person writes, and safe for the stack.
static constexpr int kDeepest = 100;

namespace {

/// A recursive-descent parser. A method that fails has reported an error and returns null or false; its callers return
/// at once.
class Parser {
public:
  Parser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

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
  bool parseStates(Expression &expression);

  /// Counts the nesting of the parser, and reports an error beyond kDeepest.
  struct Depth {
    explicit Depth(Parser &parser) : parser(parser) { ++parser.depth; }
    ~Depth() { --parser.depth; }
    bool tooDeep() {
      if (parser.depth <= kDeepest)
        return false;
      emitError(Location(parser.peek().where))
          << "expressions and blocks nest more than " << kDeepest << " deep; give parts of them names of their own";
      return true;
    }
    Parser &parser;
  };

  std::vector<Token> tokens;
  size_t next = 0;
  int depth = 0;
};

bool isKeyword(StringRef name) {
  return llvm::is_contained({"task", "use", "param", "def", "if", "else", "repeat", "scan", "with", "and", "or", "not",
                             "true", "false", "in"},
                            name);
}

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

//===-- Declarations --------------------------------------------------------------------------------------------===//

FailureOr<Text> Parser::parse() {
  Text text;
  for (skipLines(); peek().kind != Token::End; skipLines())
    if (!parseDeclaration(text))
      return failure();
  return text;
}

bool Parser::parseName(Name &name, const Twine &what) {
  if (peek().kind != Token::Name || isKeyword(peek().text))
    return fail(what), false;
  name = {peek().text.str(), peek().where};
  take();
  return true;
}

bool Parser::endLine() {
  if (peek().kind == Token::NewLine || peek().kind == Token::End || peek().is("}"))
    return true;
  return fail("the end of the line"), false;
}

bool Parser::parseDeclaration(Text &text) {
  LocationAttr where = peek().where;
  if (takeIfName("task")) {
    Name name;
    if (!parseName(name, "a task's name"))
      return false;
    if (text.task)
      return emitError(Location(where)) << "the text has a task already, '" << text.task->text << "'; remove either",
             false;
    text.task = name;
    return endLine();
  }
  if (takeIfName("use"))
    return parseName(text.uses.emplace_back(), "the name of a text") && endLine();
  if (takeIfName("param")) {
    do {
      skipLines();
      if (!parseParameter(text.parameters.emplace_back(), /*ofText=*/true))
        return false;
    } while (takeIf(","));
    return endLine();
  }
  if (takeIfName("def"))
    return parseDefinition(text);
  if (peek().isName("published") && peek(1).kind == Token::String)
    return parsePublished(text);
  if (isPart())
    return parsePart(text);
  return parseStatement(text.statements.emplace_back());
}

bool Parser::parseParameter(Parameter &parameter, bool ofText) {
  if (!parseName(parameter.name, "a parameter's name"))
    return false;
  if (!takeIf("="))
    return true;
  if (!(parameter.value = parseExpression()))
    return false;
  if (!ofText)
    return true;
  while (takeIf("|"))
    if (!parameter.choices.emplace_back(parseExpression()))
      return false;
  if (takeIfName("in"))
    return (parameter.low = parseExpression()) && expect("..", "between a parameter's bounds") &&
           (parameter.high = parseExpression());
  return true;
}

bool Parser::parseDefinition(Text &text) {
  Definition definition;
  if (!parseName(definition.name, "a definition's name") || !expect("(", "behind a definition's name"))
    return false;
  for (skipLines(); !peek().is(")"); skipLines()) {
    if (!parseParameter(definition.parameters.emplace_back(), /*ofText=*/false))
      return false;
    skipLines();
    if (!takeIf(","))
      break;
  }
  if (!expectEnd(")", "behind a definition's parameters"))
    return false;
  definition.body = parseBlock("a definition");
  if (!definition.body)
    return false;
  text.definitions.push_back(std::move(definition));
  return endLine();
}

/// Returns true at `name(names) {`. At the top level of a file only parts have this form.
bool Parser::isPart() {
  if (peek().kind != Token::Name || isKeyword(peek().text) || !peek(1).is("("))
    return false;
  size_t i = 2;
  while (peek(i).kind == Token::Name || peek(i).is(","))
    ++i;
  return peek(i).is(")") && peek(i + 1).is("{");
}

bool Parser::parsePart(Text &text) {
  Part part;
  if (!parseName(part.name, "a part's name") || !expect("(", "behind a part's name"))
    return false;
  while (!peek().is(")")) {
    if (!parseName(part.inputs.emplace_back(), "an input's name"))
      return false;
    if (!takeIf(","))
      break;
  }
  if (!expect(")", "behind a part's inputs"))
    return false;
  part.body = parseBlock("a part");
  if (!part.body)
    return false;
  text.parts.push_back(std::move(part));
  return endLine();
}

/// published "LlamaForCausalLM", ... [gguf "llama"] { statements and lines `"weight" = tensor` }
bool Parser::parsePublished(Text &text) {
  LocationAttr where = take().where;
  if (text.published)
    return emitError(Location(where)) << "the text has a section 'published' already; name further architectures there",
           false;
  PublishedSection &section = text.published.emplace();
  auto parseString = [&](Name &name) {
    if (peek().kind != Token::String)
      return fail("the name of an architecture in quotation marks"), false;
    name = {peek().text.str(), peek().where};
    take();
    return true;
  };
  do
    if (!parseString(section.architectures.emplace_back()))
      return false;
  while (takeIf(","));
  if (takeIfName("gguf") && !parseString(section.gguf.emplace()))
    return false;
  if (!expect("{", "and what is read of such models"))
    return false;
  for (skipLines(); !takeIf("}"); skipLines()) {
    if (peek().kind == Token::End)
      return emitError(Location(where)) << "the section that begins here has no end; close it with '}'", false;
    if (peek().kind != Token::String) {
      if (!parseStatement(section.statements.emplace_back()))
        return false;
      continue;
    }
    TensorRule &rule = section.tensors.emplace_back();
    rule.weights = {peek().text.str(), peek().where};
    take();
    if (!expect("=", "between a weight's name and its tensor"))
      return false;
    skipLines();
    rule.tensor = parseList();
    if (!rule.tensor || !endLine())
      return false;
  }
  return endLine();
}

//===-- Statements ----------------------------------------------------------------------------------------------===//

bool Parser::parseStatement(Statement &statement) {
  // names = value
  size_t i = 0;
  while (peek(i).kind == Token::Name && !isKeyword(peek(i).text) && peek(i + 1).is(","))
    i += 2;
  if (peek(i).kind == Token::Name && !isKeyword(peek(i).text) && peek(i + 1).is("=")) {
    do {
      const Token &name = take();
      statement.names.push_back({name.text.str(), name.where});
    } while (takeIf(","));
    take();
    skipLines();
  }
  statement.value = parseList();
  if (!statement.value)
    return false;
  if (statement.names.empty() && statement.value->kind == Expression::Weight) {
    statement.names.push_back({statement.value->text, statement.value->where}); // an unnamed weight binds its own name
    statement.value->text.clear();
  }
  return endLine();
}

bool Parser::parseStatements(Body &block) {
  for (skipLines(); !takeIf("}"); skipLines()) {
    if (peek().kind == Token::End) {
      emitError(Location(block.where)) << "the block that begins here has no end; close it with '}'";
      return false;
    }
    if (!parseStatement(block.statements.emplace_back()))
      return false;
  }
  if (block.statements.empty()) {
    emitError(Location(block.where)) << "the block is empty; its last line is its value";
    return false;
  }
  return true;
}

std::unique_ptr<Body> Parser::parseBlock(const Twine &owner) {
  Depth depth(*this);
  if (depth.tooDeep())
    return nullptr;
  auto block = std::make_unique<Body>();
  block->where = peek().where;
  if (!takeIf("{"))
    return fail("'{' and the block of " + owner);
  return parseStatements(*block) ? std::move(block) : nullptr;
}

/// Parses the block after a call: `{ |a, b| ... }`
std::unique_ptr<Body> Parser::parseBlockWithParameters() {
  Depth depth(*this);
  if (depth.tooDeep())
    return nullptr;
  auto block = std::make_unique<Body>();
  block->where = take().where;
  take();
  while (!takeIf("|")) {
    if (!parseName(block->parameters.emplace_back(), "a parameter's name"))
      return nullptr;
    if (!peek().is("|") && !expect(",", "between a block's parameters"))
      return nullptr;
  }
  return parseStatements(*block) ? std::move(block) : nullptr;
}

//===-- Expressions ---------------------------------------------------------------------------------------------===//

ExpressionPtr Parser::parseList() {
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

ExpressionPtr Parser::parseExpression(int precedence) {
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

ExpressionPtr Parser::parseUnary() {
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

ExpressionPtr Parser::parsePostfix() {
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

ExpressionPtr Parser::parsePrimary() {
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
ExpressionPtr Parser::parseBrackets() {
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

ExpressionPtr Parser::parseNumber() {
  const Token &token = take();
  ExpressionPtr number = make(Expression::Number, token.where);
  number->isWhole = token.text.find_first_of(".eE") == StringRef::npos;
  if (token.text.getAsDouble(number->number, /*AllowInexact=*/true) || (number->isWhole && number->number > 1e15)) {
    emitError(Location(token.where)) << "the number is out of range; whole numbers go to 10^15, others to 10^308";
    return nullptr;
  }
  return number;
}

ExpressionPtr Parser::parseCall() {
  ExpressionPtr call = make(Expression::Call, peek().where);
  call->text = take().text.str();
  if (!parseArguments(*call))
    return nullptr;
  if (peek().is("{") && peek(1).is("|"))
    if (!(call->block = parseBlockWithParameters()))
      return nullptr;
  return call;
}

bool Parser::parseArguments(Expression &call) {
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
ExpressionPtr Parser::parseWeight() {
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

ExpressionPtr Parser::parseIf() {
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
ExpressionPtr Parser::parseRepeat() {
  ExpressionPtr repeat = make(Expression::Repeat, take().where);
  ExpressionPtr count = parseExpression();
  if (!count)
    return nullptr;
  repeat->operands.push_back(std::move(count));
  if (takeIfName("as") && !parseName(repeat->rows.emplace_back().name, "a name for the number of the repetition"))
    return nullptr;
  if (!takeIfName("with"))
    return fail("'with' and what the repetition carries on, as in `repeat 6 with x = start { layer(x) }`");
  if (!parseStates(*repeat))
    return nullptr;
  repeat->block = parseBlock("'repeat'");
  return repeat->block ? std::move(repeat) : nullptr;
}

/// state = start, ...
bool Parser::parseStates(Expression &expression) {
  do {
    State &state = expression.states.emplace_back();
    if (!parseName(state.name, "a state's name") || !expect("=", "and what the state starts as"))
      return false;
    if (!(state.start = parseExpression()))
      return false;
  } while (takeIf(","));
  return true;
}

/// scan [reversed] rows as name, ... with state = start, ... { ... }
ExpressionPtr Parser::parseScan() {
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
  if (!parseStates(*scan))
    return nullptr;
  scan->block = parseBlock("'scan'");
  return scan->block ? std::move(scan) : nullptr;
}

FailureOr<Text> mlir::heddle::language::parse(MLIRContext *context, StringRef path, StringRef text) {
  FailureOr<std::vector<Token>> tokens = tokenize(context, path, text);
  if (failed(tokens))
    return failure();
  return Parser(std::move(*tokens)).parse();
}
