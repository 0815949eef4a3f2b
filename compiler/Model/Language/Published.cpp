#include "compiler/Model/Language/Published.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

//===-- Families ------------------------------------------------------------------------------------------------===//

static constexpr StringLiteral kSection = "\npublished \"";

/// The architectures that a text's section names. Finds them without parsing the text, because only one of many texts
/// is needed.
static SmallVector<StringRef> architecturesOf(StringRef text, bool isGguf) {
  size_t place = text.find(kSection);
  if (place == StringRef::npos)
    return {};
  StringRef line = text.drop_front(place + 1).take_until([](char c) { return c == '{'; });
  auto [published, gguf] = line.split(" gguf ");
  SmallVector<StringRef> parts, names;
  (isGguf ? gguf : published).split(parts, '"');
  for (size_t i = 1; i < parts.size(); i += 2)
    names.push_back(parts[i]);
  return names;
}

std::optional<ModelText> language::findFamily(MLIRContext *context, StringRef architecture, bool isGguf) {
  for (StringRef name : getLibraryTexts())
    if (llvm::is_contained(architecturesOf(findLibraryText(name), isGguf), architecture))
      if (FailureOr<ModelText> text = ModelText::read(context, (name + ".weft").str(), findLibraryText(name));
          succeeded(text)) {
        ModelText found = std::move(*text);
        return found;
      }
  return std::nullopt;
}

std::vector<std::string> language::listArchitectures(bool isGguf) {
  std::vector<std::string> names;
  for (StringRef text : getLibraryTexts())
    for (StringRef name : architecturesOf(findLibraryText(text), isGguf))
      names.push_back(name.str());
  return names;
}

//===-- Statements ----------------------------------------------------------------------------------------------===//

PublishedFamily::PublishedFamily(const ModelText &text, OuterFunctions given)
    : functions(std::move(given)), elaborator(text) {
  elaborator.setOuterFunctions(functions);
  for (const PublishedSection &section : text.getPublishedSections()) {
    for (const Statement &statement : section.statements) {
      collectUsed(*statement.value);
      if (statement.names.empty())
        unnamed.push_back(&statement);
      else
        statements[statement.names.front().text] = &statement;
    }
    for (const TensorRule &rule : section.tensors)
      tensors[rule.weights.text] = &rule;
  }
  for (const auto &[weights, rule] : tensors)
    collectUsed(*rule->tensor);
}

/// Calls `visit` for each variable in the expression.
template <typename Visit> static void forEachName(const Expression &expression, Visit visit) {
  auto visitBody = [&](const std::unique_ptr<Body> &body) {
    if (body)
      for (const Statement &statement : body->statements)
        forEachName(*statement.value, visit);
  };
  if (expression.kind == Expression::Variable)
    visit(expression);
  for (const ExpressionPtr &operand : expression.operands)
    forEachName(*operand, visit);
  for (const Argument &argument : expression.arguments)
    forEachName(*argument.value, visit);
  if (expression.otherwise)
    forEachName(*expression.otherwise, visit);
  visitBody(expression.block);
  visitBody(expression.otherBlock);
}

void PublishedFamily::collectUsed(const Expression &expression) {
  forEachName(expression, [&](const Expression &name) { used.insert(name.text); });
}

/// Evaluates the statements that bind the names in the expression.
bool PublishedFamily::evaluateOperands(const Expression &expression, function_ref<LocationAttr(StringRef)> placeOf) {
  bool ok = true;
  forEachName(expression, [&](const Expression &name) {
    if (!statements.contains(name.text) || scope.items.contains(name.text) || !ok)
      return;
    if (pending.contains(name.text)) {
      elaborator.fail(name.where) << "'" << name.text << "' needs itself to have a value";
      ok = false;
      return;
    }
    ok = !valueOf(name.text, placeOf).isMistake();
  });
  return ok;
}

Item PublishedFamily::valueOf(StringRef name, function_ref<LocationAttr(StringRef)> placeOf) {
  auto found = scope.items.find(name);
  if (found != scope.items.end())
    return found->second;
  const Statement &statement = *statements.lookup(name);
  pending.insert(name);
  Item value;
  if (statement.names.size() > 1)
    elaborator.fail(statement.names[1].where) << "a line of a section 'published' names one value";
  else if (evaluateOperands(*statement.value, placeOf))
    value = elaborator.evaluate(*statement.value, scope);
  LocationAttr from = placeOf(name);
  places[name] = from ? from : statement.names.front().where;
  return scope.items[name.str()] = value;
}

LogicalResult PublishedFamily::evaluate(const llvm::StringMap<Item> &known,
                                        function_ref<LocationAttr(StringRef)> placeOf) {
  for (const auto &item : known)
    scope.items[item.getKey().str()] = item.getValue();
  for (const auto &[name, statement] : statements)
    valueOf(name, placeOf);
  for (const Statement *statement : unnamed)
    if (!elaborator.hasFailed() && evaluateOperands(*statement->value, placeOf))
      elaborator.evaluate(*statement->value, scope);
  return failure(elaborator.hasFailed());
}

const Item *PublishedFamily::find(StringRef name) const {
  auto found = scope.items.find(name);
  return found != scope.items.end() && statements.contains(name) ? &found->second : nullptr;
}

void PublishedFamily::forEach(function_ref<void(StringRef, const Item &, LocationAttr)> visit) const {
  for (const auto &[name, statement] : statements)
    visit(name, *find(name), places.lookup(name));
}

//===-- Tensors -------------------------------------------------------------------------------------------------===//

/// Returns true if the name matches the pattern, in which each * stands for a number, and sets `numbers` to the
/// numbers.
static bool fits(StringRef name, StringRef pattern, SmallVectorImpl<std::string> &numbers) {
  numbers.clear();
  while (true) {
    size_t star = pattern.find('*');
    StringRef fixed = pattern.take_front(star);
    if (!name.consume_front(fixed))
      return false;
    if (star == StringRef::npos)
      return name.empty();
    StringRef number = name.take_while(llvm::isDigit);
    if (number.empty())
      return false;
    numbers.push_back(number.str());
    name = name.drop_front(number.size());
    pattern = pattern.drop_front(star + 1);
  }
}

static std::string withNumbers(StringRef pattern, ArrayRef<std::string> numbers) {
  std::string name;
  size_t next = 0;
  for (char c : pattern)
    if (c == '*' && next < numbers.size())
      name += numbers[next++];
    else
      name += c;
  return name;
}

FailureOr<llvm::json::Object> PublishedFamily::findTensor(StringRef weight, size_t rank, const Settings &parameters) {
  SmallVector<std::string> numbers;
  const TensorRule *found = nullptr;
  StringRef ending;
  for (const auto &[pattern, rule] : tensors)
    if (fits(weight, pattern, numbers)) {
      found = rule;
      break;
    }
  auto [stem, last] = weight.rsplit('.');
  if (!found && (last == "weight" || last == "bias"))
    for (const auto &[pattern, rule] : tensors)
      if (fits(stem, pattern, numbers)) {
        found = rule;
        ending = weight.drop_front(stem.size());
        break;
      }
  if (!found)
    return llvm::json::Object();
  Scope constants{&scope, {}};
  for (const auto &parameter : parameters)
    constants.items[parameter.getKey().str()] = toItem(parameter.getValue());
  const Expression &all = *found->tensor;
  bool isList = all.kind == Expression::List;
  if (isList && all.operands.size() != 2) {
    elaborator.fail(all.where) << "a tensor of a folder and one of a GGUF file stand here, and not "
                               << all.operands.size() << " of them";
    return failure();
  }
  std::optional<llvm::json::Object> tensor =
      readTensor(isList ? *all.operands[0] : all, {numbers, ending, rank, /*isGguf=*/false}, constants);
  if (!tensor)
    return failure();
  if (!isList)
    return std::move(*tensor);
  std::optional<llvm::json::Object> gguf =
      readTensor(*all.operands[1], {numbers, ending, rank, /*isGguf=*/true}, constants);
  if (!gguf)
    return failure();
  (*tensor)["gguf"] = std::move(*gguf);
  return std::move(*tensor);
}

/// Reads the tensor of the branch that the condition chooses.
std::optional<llvm::json::Object> PublishedFamily::readChosenTensor(const Expression &expression, WeightName weight,
                                                                    Scope &constants) {
  Item condition = elaborator.evaluate(*expression.operands[0], constants);
  const bool *holds = condition.as<bool>();
  if (condition.isMistake())
    return std::nullopt;
  const Body *branch = holds && *holds ? expression.block.get() : expression.otherBlock.get();
  bool hasTwo = expression.otherwise || expression.otherBlock;
  if (holds && !*holds && expression.otherwise)
    return readTensor(*expression.otherwise, weight, constants);
  if (!holds || !hasTwo || branch->statements.size() != 1 || !branch->statements.front().names.empty()) {
    elaborator.fail(expression.where)
        << "an 'if' between tensors has a condition that is true or false, and one tensor in each branch";
    return std::nullopt;
  }
  return readTensor(*branch->statements.front().value, weight, constants);
}

/// Reads the right side of a tensor's line. A string names a tensor; a function says how the weight is stored in its
/// argument's tensor; an `if` chooses between two tensors.
std::optional<llvm::json::Object> PublishedFamily::readTensor(const Expression &expression, WeightName weight,
                                                              Scope &constants) {
  if (expression.kind == Expression::If)
    return readChosenTensor(expression, weight, constants);
  if (expression.kind == Expression::String) {
    llvm::json::Array names;
    std::string name = withNumbers(expression.text, weight.numbers) + weight.ending.str();
    if (auto stars = static_cast<size_t>(llvm::count(name, '*')); stars != (weight.isStacked ? 1 : 0)) {
      elaborator.fail(expression.where)
          << "the tensor's name has " << stars << " * more than the weight's, and "
          << (weight.isStacked ? "in stack(tensor, count) it has one more, for the tensor's number in the stack"
                               : "only stack(tensor, count) takes one more");
      return std::nullopt;
    }
    // Tensor names have other prefixes in models without a head, and in models that are part of another one.
    const Item *bases = find("bases");
    const auto *list = bases ? bases->as<ListItem>() : nullptr;
    StringRef first = list && !list->empty() && list->front().as<std::string>()
                          ? StringRef(*list->front().as<std::string>())
                          : StringRef();
    StringRef rest = name;
    if (!first.empty() && rest.consume_front(first)) {
      for (const Item &base : *list)
        if (const auto *text = base.as<std::string>())
          names.push_back(*text + rest.str());
    } else {
      names.push_back(name);
    }
    return llvm::json::Object{{"from", std::move(names)}};
  }
  StringRef function = expression.text;
  ArrayRef<Argument> arguments = expression.arguments;
  size_t expected = llvm::StringSwitch<size_t>(function)
                        .Cases({"flat", "head"}, 1)
                        .Cases({"paired", "plus", "beside", "rows", "stack"}, 2)
                        .Cases({"part", "interleaved"}, 3)
                        .Case("either", 2)
                        .Default(0);
  if (function == "pick")
    expected = arguments.size() == 5 ? 5 : 4;
  if ((function == "leading" || function == "transpose") && arguments.size() <= 2)
    expected = std::max<size_t>(arguments.size(), 1);
  if (expression.kind != Expression::Call || expected != arguments.size()) {
    elaborator.fail(expression.where)
        << "a tensor is its name in quotation marks, or transpose(tensor, matrices), flat(tensor), "
           "head(tensor), leading(tensor, skipped), "
        << "rows(tensor, from), pick(tensor, groups, of, index, count), part(tensor, index, "
           "of), interleaved(tensor, index, of), stack(tensor, count), paired(tensor, heads), "
        << "plus(tensor, number), beside(tensor, count) or either(tensor, tensor)";
    return std::nullopt;
  }
  bool isOfGguf = function == "paired" || function == "plus" || function == "beside",
       isOfFolder = !isOfGguf && function != "rows" && function != "pick" && function != "transpose";
  if (weight.isGguf ? isOfFolder : isOfGguf) {
    elaborator.fail(expression.where) << "'" << function << "' is for tensors of "
                                      << (weight.isGguf
                                              ? "folders; in a GGUF file, matrices are stored as in the folder"
                                              : "GGUF files, whose names follow the folder's after a comma");
    return std::nullopt;
  }
  weight.isStacked |= function == "stack";
  std::optional<llvm::json::Object> tensor = readTensor(*arguments[0].value, weight, constants);
  if (!tensor)
    return std::nullopt;
  if (function == "either") {
    std::optional<llvm::json::Object> other = readTensor(*arguments[1].value, weight, constants);
    if (!other)
      return std::nullopt;
    for (const llvm::json::Value &name : *other->getArray("from"))
      tensor->getArray("from")->push_back(name);
    return tensor;
  }
  SmallVector<double> values;
  for (const Argument &argument : arguments.drop_front()) {
    Item item = elaborator.evaluate(*argument.value, constants);
    const auto *number = item.as<NumberItem>();
    if (!number) {
      if (!item.isMistake())
        elaborator.fail(argument.where) << "'" << function << "' takes numbers behind its tensor, not "
                                        << elaborator.describe(item);
      return std::nullopt;
    }
    values.push_back(number->value);
  }
  auto wholes = [&] {
    llvm::json::Array list;
    for (double value : values)
      list.push_back(static_cast<int64_t>(value));
    return list;
  };
  auto leading = [&] {
    (*tensor)["rows"] = "leading";
    if (!values.empty() && values[0] > 0)
      (*tensor)["skip"] = static_cast<int64_t>(values[0]);
  };
  auto transpose = [&] {
    (*tensor)["transpose"] = true;
    if (!values.empty())
      (*tensor)["matrices"] = static_cast<int64_t>(values[0]);
  };
  if (function == "transpose" && weight.rank == 2)
    transpose();
  else if (function == "head")
    (*tensor)["head"] = true;
  else if (function == "flat")
    (*tensor)["flat"] = "columns";
  else if (function == "leading")
    leading();
  else if (function == "rows")
    (*tensor)["rows"] = wholes();
  else if (function == "pick")
    (*tensor)["pick"] = wholes();
  else if (function == "part" || function == "interleaved")
    (*tensor)[function] = wholes();
  else if (function == "paired" || function == "beside")
    (*tensor)[function] = static_cast<int64_t>(values[0]);
  else if (function == "plus")
    (*tensor)["plus"] = values[0];
  else if (function == "stack")
    (*tensor)["stack"] = static_cast<int64_t>(values[0]);
  if (function == "stack" && tensor->get("transpose")) // each tensor is transposed by itself
    (*tensor)["matrices"] = static_cast<int64_t>(values[0]);
  return tensor;
}
