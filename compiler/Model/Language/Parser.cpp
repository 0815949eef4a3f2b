#include "compiler/Model/Language/Parser.h"

#include "compiler/Model/Language/Tasks.h"
#include "compiler/Model/Language/TextParser.h"

using namespace mlir;
using namespace mlir::heddle::language;

bool mlir::heddle::language::isKeyword(StringRef name) {
  return llvm::is_contained({"task", "use", "param", "def", "if", "else", "repeat", "scan", "with", "and", "or", "not",
                             "true", "false", "in"},
                            name);
}

//===-- Declarations --------------------------------------------------------------------------------------------===//

FailureOr<Text> TextParser::parse() {
  Text text;
  for (skipLines(); peek().kind != Token::End; skipLines())
    if (!parseDeclaration(text))
      return failure();
  return text;
}

bool TextParser::parseName(Name &name, const Twine &what) {
  if (peek().kind != Token::Name || isKeyword(peek().text))
    return fail(what), false;
  name = {peek().text.str(), peek().where};
  take();
  return true;
}

bool TextParser::endLine() {
  if (peek().kind == Token::NewLine || peek().kind == Token::End || peek().is("}"))
    return true;
  return fail("the end of the line"), false;
}

bool TextParser::parseDeclaration(Text &text) {
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

bool TextParser::parseParameter(Parameter &parameter, bool ofText) {
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

bool TextParser::parseDefinition(Text &text) {
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

/// Returns true at `name(names) {` or `name(names) with`. At the top level of a file only parts have this form.
bool TextParser::isPart() {
  if (peek().kind != Token::Name || isKeyword(peek().text) || !peek(1).is("("))
    return false;
  size_t i = 2;
  while (peek(i).kind == Token::Name || peek(i).is(","))
    ++i;
  return peek(i).is(")") && (peek(i + 1).is("{") || peek(i + 1).isName("with"));
}

bool TextParser::parsePart(Text &text) {
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
  LocationAttr with = peek().where;
  if (takeIfName("with")) {
    if (!parseStates(part.states))
      return false;
    if (part.name.text != kUpdate)
      return emitError(Location(with)) << "the part '" << part.name.text
                                       << "' keeps no states from call to call; only '" << kUpdate
                                       << "', the optimizer's step, does",
             false;
  }
  part.body = parseBlock("a part");
  if (!part.body)
    return false;
  text.parts.push_back(std::move(part));
  return endLine();
}

/// published "LlamaForCausalLM", ... [gguf "llama"] { statements and lines `"weight" = tensor` }
bool TextParser::parsePublished(Text &text) {
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

bool TextParser::parseStatement(Statement &statement) {
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

bool TextParser::parseStatements(Body &block) {
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

std::unique_ptr<Body> TextParser::parseBlock(const Twine &owner) {
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
std::unique_ptr<Body> TextParser::parseBlockWithParameters() {
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

FailureOr<Text> mlir::heddle::language::parse(MLIRContext *context, StringRef path, StringRef text) {
  FailureOr<std::vector<Token>> tokens = tokenize(context, path, text);
  if (failed(tokens))
    return failure();
  return TextParser(std::move(*tokens)).parse();
}
