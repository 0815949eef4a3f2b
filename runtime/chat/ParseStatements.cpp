#include "runtime/chat/Parser.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle::chat {
namespace {

using Kind = Statement::Kind;

// The maximum nesting depth of tags, parentheses, targets and prefix operators.
constexpr unsigned kDeepestNesting = 200;

constexpr std::string_view kUnsupported[] = {"autoescape", "block",  "debug",   "do",   "extends",
                                             "from",       "import", "include", "trans"};

} // namespace

Parser::Parser(std::vector<Token> given) : tokens(std::move(given)) {
  program.loop = symbolOf("loop");
  program.caller = symbolOf("caller");
  program.arguments = symbolOf("varargs");
  program.named = symbolOf("kwargs");
}

Symbol Parser::symbolOf(const std::string &name) {
  auto [found, added] = symbols.emplace(name, Symbol(program.names.size()));
  if (added)
    program.names.push_back(name);
  return found->second;
}

bool Parser::skipName(std::string_view name) {
  bool found = atName(name);
  if (found)
    next();
  return found;
}

bool Parser::skipSign(std::string_view sign) {
  bool found = atSign(sign);
  if (found)
    next();
  return found;
}

Error Parser::unexpected(std::string_view expected) const {
  if (at(Token::Kind::End))
    return syntaxError(current().line, "the template ends where ", expected, " is expected");
  return syntaxError(current().line, "'", current().text.substr(0, 40), "' stands where ", expected, " is expected");
}

Status Parser::expect(Token::Kind kind, std::string_view what) {
  if (!at(kind))
    return unexpected(what);
  next();
  return Success();
}

Status Parser::expectSign(std::string_view sign) {
  if (!skipSign(sign))
    return unexpected(str("'", sign, "'"));
  return Success();
}

Status Parser::checkNesting() const {
  if (depth > kDeepestNesting)
    return syntaxError(current().line, "tags or expressions are nested more than ", kDeepestNesting, " deep");
  return Success();
}

Result<Program> Parser::parse() {
  HEDDLE_ASSIGN(program.body, parseBody({}));
  return std::move(program);
}

// Parses up to a tag with one of the names in `ends`, and leaves that name as the next token. Without `ends`, parses up
// to the end of the template.
Result<Body> Parser::parseBody(std::initializer_list<std::string_view> ends) {
  Nesting nesting(depth);
  HEDDLE_CHECK(checkNesting());
  Body body;
  int opened = tokens[place > 0 ? place - 1 : 0].line;
  while (!at(Token::Kind::End)) {
    if (at(Token::Kind::Data)) {
      auto statement = std::make_unique<Statement>();
      statement->kind = Kind::Text;
      statement->line = current().line;
      statement->text = next().text;
      body.push_back(std::move(statement));
    } else if (at(Token::Kind::PrintBegin)) {
      next();
      HEDDLE_CHECK(addPrint(body, parseTuple()));
      HEDDLE_CHECK(expect(Token::Kind::PrintEnd, "}}"));
    } else {
      HEDDLE_CHECK(expect(Token::Kind::TagBegin, "a tag"));
      if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return atName(end); }))
        return body;
      HEDDLE_CHECK(parseStatement(body));
      HEDDLE_CHECK(expect(Token::Kind::TagEnd, "%}"));
    }
  }
  if (ends.size() != 0)
    return syntaxError(opened, "a block has no {% ", *(ends.end() - 1), " %}");
  return body;
}

// Parses the body of a tag, from the end of its opening tag up to the tag `end`.
Result<Body> Parser::parseBlock(std::string_view end) {
  skipSign(":");
  HEDDLE_CHECK(expect(Token::Kind::TagEnd, "%}"));
  HEDDLE_ASSIGN(Body body, parseBody({end}));
  next();
  return body;
}

Status Parser::addPrint(Body &body, Result<ExpressionPtr> value) {
  auto statement = std::make_unique<Statement>();
  statement->kind = Kind::Print;
  statement->line = current().line;
  HEDDLE_ASSIGN(statement->value, std::move(value));
  body.push_back(std::move(statement));
  return Success();
}

Status Parser::parseStatement(Body &body) {
  int line = current().line;
  if (!at(Token::Kind::Name))
    return unexpected("the name of a tag");
  std::string name = next().text;
  if (name == "print") {
    do {
      HEDDLE_CHECK(addPrint(body, parseExpression()));
    } while (skipSign(","));
    return Success();
  }
  auto statement = std::make_unique<Statement>();
  statement->line = line;
  if (name == "for") {
    HEDDLE_CHECK(parseFor(*statement));
  } else if (name == "if") {
    HEDDLE_CHECK(parseIf(*statement));
  } else if (name == "set") {
    HEDDLE_CHECK(parseSet(*statement));
  } else if (name == "with") {
    HEDDLE_CHECK(parseWith(*statement));
  } else if (name == "macro") {
    HEDDLE_CHECK(parseMacro(*statement));
  } else if (name == "call") {
    HEDDLE_CHECK(parseCallBlock(*statement));
  } else if (name == "filter") {
    HEDDLE_CHECK(parseFilterBlock(*statement));
  } else if (name == "generation") {
    statement->kind = Kind::Generation;
    std::vector<bool> outer = std::exchange(loops, {});
    HEDDLE_ASSIGN(statement->body, parseBlock("endgeneration"));
    loops = std::move(outer);
  } else if (name == "break" || name == "continue") {
    if (loops.empty())
      return syntaxError(line, "{% ", name, " %} stands outside of a loop");
    statement->kind = name == "break" ? Kind::Break : Kind::Continue;
  } else if (std::find(std::begin(kUnsupported), std::end(kUnsupported), name) != std::end(kUnsupported)) {
    return syntaxError(line, "the tag {% ", name, " %} is none of those that Heddle renders");
  } else {
    return syntaxError(line, "there is no tag {% ", name.substr(0, 40), " %}",
                       name.starts_with("end") || name.starts_with("el") ? " that could stand here" : "");
  }
  body.push_back(std::move(statement));
  return Success();
}

Status Parser::parseFor(Statement &statement) {
  statement.kind = Kind::For;
  HEDDLE_ASSIGN(statement.target, parseTarget("in"));
  if (!skipName("in"))
    return unexpected("'in'");
  HEDDLE_ASSIGN(statement.value, parseTuple(false, "recursive"));
  if (skipName("if")) {
    HEDDLE_ASSIGN(statement.test, parseExpression());
  }
  statement.isRecursive = skipName("recursive");
  skipSign(":");
  HEDDLE_CHECK(expect(Token::Kind::TagEnd, "%}"));
  loops.push_back(true);
  HEDDLE_ASSIGN(statement.body, parseBody({"else", "endfor"}));
  loops.pop_back();
  if (next().text == "endfor")
    return Success();
  HEDDLE_ASSIGN(statement.otherwise, parseBlock("endfor"));
  return Success();
}

Status Parser::parseIf(Statement &statement) {
  statement.kind = Kind::If;
  while (true) {
    Branch branch;
    HEDDLE_ASSIGN(branch.test, parseTuple(false));
    skipSign(":");
    HEDDLE_CHECK(expect(Token::Kind::TagEnd, "%}"));
    HEDDLE_ASSIGN(branch.body, parseBody({"elif", "else", "endif"}));
    statement.branches.push_back(std::move(branch));
    std::string word = next().text;
    if (word == "endif")
      return Success();
    if (word == "else")
      break;
  }
  Branch last;
  HEDDLE_ASSIGN(last.body, parseBlock("endif"));
  statement.branches.push_back(std::move(last));
  return Success();
}

Status Parser::parseSet(Statement &statement) {
  HEDDLE_ASSIGN(statement.target, parseTarget());
  if (skipSign("=")) {
    statement.kind = Kind::Set;
    HEDDLE_ASSIGN(statement.value, parseTuple());
    return Success();
  }
  statement.kind = Kind::SetBlock;
  if (atSign("|")) {
    HEDDLE_ASSIGN(ExpressionPtr block, node(Expression::Kind::Block, statement.line, {}));
    HEDDLE_ASSIGN(statement.value, parseFilters(std::move(block)));
  }
  HEDDLE_ASSIGN(statement.body, parseBlock("endset"));
  return Success();
}

Status Parser::parseWith(Statement &statement) {
  statement.kind = Kind::With;
  while (!at(Token::Kind::TagEnd)) {
    if (!statement.targets.empty())
      HEDDLE_CHECK(expectSign(","));
    HEDDLE_ASSIGN(Target target, parseSimpleTarget());
    HEDDLE_CHECK(expectSign("="));
    HEDDLE_ASSIGN(ExpressionPtr value, parseExpression());
    statement.targets.push_back(std::move(target));
    statement.values.push_back(std::move(value));
  }
  HEDDLE_ASSIGN(statement.body, parseBlock("endwith"));
  return Success();
}

Status Parser::parseParameters(MacroDefinition &macro) {
  HEDDLE_CHECK(expectSign("("));
  while (!atSign(")")) {
    if (!macro.parameters.empty())
      HEDDLE_CHECK(expectSign(","));
    if (!at(Token::Kind::Name))
      return unexpected("the name of a parameter");
    Parameter parameter;
    parameter.name = next().text;
    parameter.symbol = symbolOf(parameter.name);
    if (skipSign("=")) {
      HEDDLE_ASSIGN(parameter.otherwise, parseExpression());
    } else if (!macro.parameters.empty() && macro.parameters.back().otherwise) {
      return syntaxError(current().line, "the parameter '", parameter.name, "' needs a default, as the one before it");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  next();
  return Success();
}

Status Parser::parseMacroBody(MacroDefinition &macro, std::string_view end) {
  macros.push_back(&macro);
  std::vector<bool> outer = std::exchange(loops, {});
  HEDDLE_ASSIGN(macro.body, parseBlock(end));
  loops = std::move(outer);
  macros.pop_back();
  return Success();
}

Status Parser::parseMacro(Statement &statement) {
  statement.kind = Kind::Macro;
  statement.macro = std::make_unique<MacroDefinition>();
  if (!at(Token::Kind::Name))
    return unexpected("the name of the macro");
  statement.macro->name = next().text;
  statement.macro->symbol = symbolOf(statement.macro->name);
  HEDDLE_CHECK(parseParameters(*statement.macro));
  return parseMacroBody(*statement.macro, "endmacro");
}

Status Parser::parseCallBlock(Statement &statement) {
  statement.kind = Kind::CallBlock;
  statement.macro = std::make_unique<MacroDefinition>();
  statement.macro->name = "caller";
  if (atSign("("))
    HEDDLE_CHECK(parseParameters(*statement.macro));
  HEDDLE_ASSIGN(statement.value, parseExpression());
  if (statement.value->kind != Expression::Kind::Call)
    return syntaxError(statement.line, "the tag {% call %} needs a call of a macro");
  return parseMacroBody(*statement.macro, "endcall");
}

Status Parser::parseFilterBlock(Statement &statement) {
  statement.kind = Kind::FilterBlock;
  HEDDLE_ASSIGN(ExpressionPtr block, node(Expression::Kind::Block, statement.line, {}));
  HEDDLE_ASSIGN(statement.value, parseFilter(std::move(block)));
  HEDDLE_ASSIGN(statement.value, parseFilters(std::move(statement.value)));
  HEDDLE_ASSIGN(statement.body, parseBlock("endfilter"));
  return Success();
}

Result<Target> Parser::parseTarget(std::string_view end) {
  Target tuple;
  tuple.form = Target::Form::Tuple;
  tuple.line = current().line;
  bool isTuple = false;
  while (!(isTuple && (at(Token::Kind::TagEnd) || atSign(")") || atSign("=") || (!end.empty() && atName(end))))) {
    HEDDLE_ASSIGN(tuple.parts.emplace_back(), parseSimpleTarget());
    if (!skipSign(","))
      break;
    isTuple = true;
  }
  if (isTuple)
    return tuple;
  Target only = std::move(tuple.parts.front());
  return only;
}

Result<Target> Parser::parseSimpleTarget() {
  Nesting nesting(depth);
  HEDDLE_CHECK(checkNesting());
  Target target;
  target.line = current().line;
  if (skipSign("(")) {
    HEDDLE_ASSIGN(target, parseTarget());
    HEDDLE_CHECK(expectSign(")"));
    return target;
  }
  if (!at(Token::Kind::Name))
    return unexpected("a name to assign to");
  std::string name = next().text;
  for (std::string_view constant : {"true", "false", "none", "True", "False", "None"})
    if (name == constant)
      return syntaxError(target.line, "nothing can be assigned to '", name, "'");
  target.symbol = symbolOf(name);
  if (skipSign(".")) {
    if (!at(Token::Kind::Name))
      return unexpected("a name behind the dot");
    target.form = Target::Form::Attribute;
    target.attribute = next().text;
  }
  return target;
}

Result<Program> parseTemplate(std::string_view text) {
  if (!isValidUtf8(text))
    return makeError(ErrorKind::Malformed, "the template is not UTF-8");
  HEDDLE_ASSIGN(std::vector<Token> tokens, cutIntoTokens(text));
  return Parser(std::move(tokens)).parse();
}

} // namespace heddle::chat
