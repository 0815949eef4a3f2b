#include "compiler/Model/Language/Elaborator.h"

#include "compiler/Model/Language/Builtins.h"
#include "compiler/Model/Language/Parts.h"
#include "runtime/schema/RoleNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// Maximum nesting of calls: far below what overflows the stack, far above what models need.
static constexpr int kDeepestCall = 60;
/// Maximum nesting of expressions, counted through calls. The stack has room for several times as many.
static constexpr int kDeepestEvaluation = 400;
/// Maximum number of expressions evaluated for a model. GPT-3's 96 layers need about 20,000.
static constexpr int64_t kMostOperations = 2'000'000;
static constexpr int64_t kMostRepetitions = 4096;

StringRef language::findNearest(StringRef name, ArrayRef<StringRef> names) {
  StringRef nearest;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (StringRef candidate : names) {
    size_t distance = name.edit_distance(candidate, /*AllowReplacements=*/true, static_cast<unsigned>(least));
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

Elaborator::Elaborator(const ModelText &text) : model(text), builder(text.context) {
  for (const std::shared_ptr<Text> &part : text.texts)
    for (const Definition &definition : part->definitions)
      definitions[definition.name.text] = &definition;
}

bool Elaborator::isOwn(LocationAttr where) const {
  auto place = dyn_cast<FileLineColLoc>(where);
  StringRef own = cast<FileLineColLoc>(model.start).getFilename().getValue();
  if (!place || place.getFilename().getValue() == own)
    return place != nullptr;
  // For a model of the library, all texts except layers.weft count as its own.
  return findLibraryText(own.rsplit('.').first) != "" && place.getFilename().getValue() != "layers.weft";
}

InFlightDiagnostic Elaborator::fail(LocationAttr where) {
  failed = true;
  auto place = dyn_cast<FileLineColLoc>(where);
  if (isOwn(where) || !callOfOther || !place)
    return emitError(Location(where));
  InFlightDiagnostic error = emitError(Location(callOfOther));
  error << "in " << place.getFilename().getValue() << ":" << place.getLine() << ":" << place.getColumn() << ": ";
  return error;
}

Elaborator::At::At(Elaborator &elaborator, StringRef name) : elaborator(elaborator), outer(elaborator.path.size()) {
  if (!elaborator.path.empty() && !name.empty())
    elaborator.path += '.';
  elaborator.path += name;
}

//===-- Statements and blocks -----------------------------------------------------------------------------------===//

Item Elaborator::evaluateBlock(const Body &block, Scope &scope) {
  Item last;
  for (const Statement &statement : block.statements)
    last = evaluateStatement(statement, scope);
  return last;
}

Item Elaborator::evaluateStatement(const Statement &statement, Scope &scope) {
  llvm::SaveAndRestore restore(pathOfStatement, path.size());
  if (statement.names.empty())
    return evaluate(*statement.value, scope);
  if (statement.names.size() == 1) {
    At at(*this, statement.names.front().text);
    Item item = evaluate(*statement.value, scope);
    scope.items[statement.names.front().text] = item;
    return item;
  }
  Item item = evaluate(*statement.value, scope);
  const auto *list = item.as<ListItem>();
  if (!item.isMistake() && (!list || list->size() != statement.names.size()))
    fail(statement.names.front().where) << statement.names.size()
                                        << " names get their values here, but the right side is " << describe(item);
  for (auto [i, name] : llvm::enumerate(statement.names))
    scope.items[name.text] = list && i < list->size() ? (*list)[i] : mistake();
  return item;
}

Item Elaborator::evaluate(const Expression &expression, Scope &scope) {
  // The parser limits the nesting of expressions, but not the length of a chain of operators. Chains nest in their left
  // operands, so a loop follows those instead of recursion.
  llvm::SaveAndRestore restore(evaluations, evaluations + 1);
  if (evaluations > kDeepestEvaluation) {
    if (operations >= kMostOperations)
      return mistake();
    fail(expression.where) << "with the calls that lead here, expressions nest more than " << kDeepestEvaluation
                           << " deep; give parts of them names of their own";
    return giveUp();
  }
  SmallVector<const Expression *> following;
  const Expression *first = &expression;
  for (; first->kind == Expression::Binary || first->kind == Expression::Index; first = first->operands[0].get())
    following.push_back(first);
  Item item = countOperation(*first) ? evaluateFirst(*first, scope) : mistake();
  for (const Expression *next : llvm::reverse(following)) {
    if (!countOperation(*next))
      return mistake();
    if (next->kind == Expression::Binary)
      item = binary(*next, item, scope);
    else if (Item index = evaluate(*next->operands[1], scope); item.as<ListItem>())
      item = elementOf(item, {index, next->where});
    else
      item = gather(item, index, next->where);
  }
  return item;
}

bool Elaborator::countOperation(const Expression &expression) {
  if (++operations <= kMostOperations)
    return true;
  if (!failed)
    fail(expression.where) << "the model has more than " << kMostOperations
                           << " operations; it repeats a part too often, or a definition within itself";
  return false;
}

Item Elaborator::giveUp() {
  operations = kMostOperations;
  return mistake();
}

Item Elaborator::evaluateFirst(const Expression &expression, Scope &scope) {
  switch (expression.kind) {
  case Expression::Number:
    return NumberItem{expression.number, expression.isWhole};
  case Expression::String:
    return expression.text;
  case Expression::Flag:
    return expression.number != 0;
  case Expression::Variable:
    return lookUp(expression, scope);
  case Expression::Negate:
    return negate(expression, scope);
  case Expression::Not: {
    Item operand = evaluate(*expression.operands[0], scope);
    std::optional<bool> value = flag({operand, expression.operands[0]->where}, "what 'not' inverts");
    return value ? Item(!*value) : mistake();
  }
  case Expression::Call:
    return call(expression, scope);
  case Expression::Weight:
    return declareWeight(expression, scope);
  case Expression::If:
    return choose(expression, scope);
  case Expression::Repeat:
    return repeat(expression, scope);
  case Expression::Scan:
    return scan(expression, scope);
  case Expression::List: {
    ListItem items;
    for (const ExpressionPtr &operand : expression.operands)
      items.push_back(evaluate(*operand, scope));
    return items;
  }
  case Expression::Binary:
  case Expression::Index:
    break;
  }
  llvm_unreachable("evaluate() combines operands");
}

/// list[index]; the first element has the index 0.
Item Elaborator::elementOf(const Item &item, const Given &index) {
  const ListItem &list = *item.as<ListItem>();
  std::optional<int64_t> place = whole(index, "an index of a list", 0);
  if (!place)
    return mistake();
  if (*place < static_cast<int64_t>(list.size()))
    return list[static_cast<size_t>(*place)];
  return fail(index.where) << "the list has " << list.size() << " values, and its last index is "
                           << static_cast<int64_t>(list.size()) - 1 << ", not " << *place;
}

Item Elaborator::choose(const Expression &expression, Scope &scope) {
  Item condition = evaluate(*expression.operands[0], scope);
  std::optional<bool> holds = flag({condition, expression.operands[0]->where}, "the condition of 'if'");
  if (!holds)
    return mistake();
  if (*holds)
    return evaluateBlock(*expression.block, scope);
  if (expression.otherwise)
    return evaluate(*expression.otherwise, scope);
  return expression.otherBlock ? evaluateBlock(*expression.otherBlock, scope) : Item(ListItem());
}

/// Evaluates the block once per iteration. The path of iteration i has the component i.
Item Elaborator::repeat(const Expression &expression, Scope &scope) {
  Item countItem = evaluate(*expression.operands[0], scope);
  std::optional<int64_t> count = whole({countItem, expression.operands[0]->where}, "the number of repetitions", 0);
  if (!count)
    return mistake();
  if (*count > kMostRepetitions)
    return fail(expression.operands[0]->where)
           << "the block is repeated " << *count << " times; at most " << kMostRepetitions << " are possible";
  SmallVector<Item> states;
  for (const State &state : expression.states)
    states.push_back(evaluate(*state.start, scope));
  for (int64_t i = 0; i < *count; ++i) {
    At at(*this, std::to_string(i));
    Scope inner{&scope, {}};
    for (const State &number : expression.rows)
      inner.items[number.name.text] = wholeNumber(i);
    for (auto [state, item] : llvm::zip_equal(expression.states, states))
      inner.items[state.name.text] = item;
    Item result = evaluateBlock(*expression.block, inner);
    if (result.isMistake())
      return mistake();
    const auto *list = result.as<ListItem>();
    if (states.size() == 1 && !list) {
      states.front() = result;
    } else if (list && list->size() == states.size()) {
      states.assign(list->begin(), list->end());
    } else
      return fail(expression.block->where) << "the repetition carries on " << states.size()
                                           << " values, but the last line of its block is " << describe(result);
  }
  return states.size() == 1 ? states.front() : Item(ListItem(states.begin(), states.end()));
}

//===-- Names ---------------------------------------------------------------------------------------------------===//

Item Elaborator::lookUp(const Expression &variable, const Scope &scope) {
  for (const Scope *at = &scope; at; at = at->outer) {
    auto found = at->items.find(variable.text);
    if (found != at->items.end())
      return found->second;
  }
  SmallVector<StringRef> known;
  for (const Scope *at = maySuggest() ? &scope : nullptr; at; at = at->outer)
    for (const auto &[name, item] : at->items)
      known.push_back(name);
  InFlightDiagnostic error = fail(variable.where) << "nothing is called '" << variable.text << "' here";
  if (definitions.contains(variable.text) || isBuiltin(variable.text))
    error << "; it is a function: call it, as in " << variable.text << "(x)";
  else if (StringRef nearest = findNearest(variable.text, known); !nearest.empty())
    error << "; the nearest name is '" << nearest << "'";
  return mistake();
}

Item Elaborator::declareWeight(const Expression &expression, Scope &scope) {
  At at(*this, expression.text);
  auto weight = std::make_shared<WeightItem>();
  weight->where = expression.where;
  bool ok = true;
  for (const ExpressionPtr &operand : expression.operands) {
    std::optional<int64_t> extent = whole({evaluate(*operand, scope), operand->where}, "an extent of a weight");
    ok &= extent.has_value();
    weight->shape.push_back(extent.value_or(1));
  }
  if (weight->shape.size() > 3)
    return fail(expression.where) << "a weight is a row, a matrix, or a matrix for each expert, but this one has "
                                  << weight->shape.size() << " extents";
  if (expression.start) {
    Item start = evaluate(*expression.start, scope);
    if (const auto *constant = start.as<NumberItem>()) {
      ok &= fitsFloat(constant->value, expression.start->where);
      weight->start = {StartKind::Constant, constant->value};
    } else if (const auto *drawn = start.as<WeightStart>())
      weight->start = *drawn;
    else {
      ok = false;
      if (!start.isMistake())
        fail(expression.start->where) << "a weight starts as a number, normal(deviation) or uniform(bound), not as "
                                      << describe(start);
    }
  } else if (weight->shape.size() > 1) { // Glorot and Bengio's bound
    ArrayRef<int64_t> matrix = ArrayRef(weight->shape).take_back(2);
    weight->start = {StartKind::Uniform, std::sqrt(6.0 / static_cast<double>(matrix[0] + matrix[1]))};
  }
  if (!ok)
    return mistake();
  // The second weight with the same name is called name_2.
  weight->name = path;
  for (int64_t &last = weightNumbers.try_emplace(path, 1).first->second; !weightNames.insert(weight->name).second;)
    weight->name = path + "_" + std::to_string(++last);
  if (weight->name == "__metadata__" || llvm::is_contained(::heddle::schema::kRoleNames, weight->name))
    return fail(expression.where) << "a weight cannot be called '" << weight->name << "': checkpoints have "
                                  << (weight->name == "__metadata__" ? "their metadata" : "a number of the training's")
                                  << " by that name; choose another";
  return weight;
}

static bool holdsBlock(const Item &item) {
  const auto *list = item.as<ListItem>();
  return item.as<BlockItem>() || (list && llvm::any_of(*list, holdsBlock));
}

//===-- Calls ---------------------------------------------------------------------------------------------------===//

Item Elaborator::call(const Expression &expression, Scope &scope) {
  llvm::SaveAndRestore restore(callOfOther, isOwn(expression.where) ? expression.where : callOfOther);
  for (const Scope *at = &scope; at; at = at->outer) {
    auto found = at->items.find(expression.text);
    if (found == at->items.end())
      continue;
    const auto *block = found->second.as<BlockItem>();
    if (!block)
      break; // values and functions have separate namespaces
    SmallVector<Item> arguments;
    for (const Argument &argument : expression.arguments) {
      if (!argument.name.empty())
        return fail(argument.where) << "a block's parameters have no names outside of it; leave out '" << argument.name
                                    << " ='";
      arguments.push_back(evaluate(*argument.value, scope));
    }
    return callBlock(*block, arguments, expression.where);
  }
  auto definition = definitions.find(expression.text);
  if (definition != definitions.end())
    return callDefinition(*definition->second, expression, scope);
  return callBuiltin(expression, scope);
}

std::optional<SmallVector<Given>> Elaborator::arrange(const Expression &call, ArrayRef<StringRef> names,
                                                      function_ref<bool(size_t)> isRequired, Scope &scope) {
  SmallVector<Given> given(names.size());
  llvm::StringMap<size_t> places; // indices in `names`; filled only if an argument has a name
  size_t next = 0;
  bool ok = true;
  auto refuse = [&](LocationAttr where) {
    ok = false;
    return fail(where) << "'" << call.text << "' ";
  };
  for (const Argument &argument : call.arguments) {
    Item item = evaluate(*argument.value, scope);
    size_t place = next;
    if (!argument.name.empty()) {
      if (places.empty())
        for (auto [i, name] : llvm::enumerate(names))
          places.try_emplace(name, i);
      auto found = places.find(argument.name);
      place = found == places.end() ? names.size() : found->second;
      if (place == names.size()) {
        InFlightDiagnostic error = refuse(argument.where);
        error << "has no parameter '" << argument.name << "'";
        if (maySuggest()) {
          StringRef nearest = findNearest(argument.name, names);
          error << "; "
                << (nearest.empty() ? "its parameters are " + llvm::join(names, ", ")
                                    : "the nearest is '" + nearest.str() + "'");
        }
        continue;
      }
    } else if (next++ >= names.size()) {
      refuse(argument.where) << "takes " << names.size() << (names.size() == 1 ? " argument" : " arguments")
                             << ", and this is one more";
      return std::nullopt;
    }
    if (given[place].where) {
      refuse(argument.where) << "gets its parameter '" << names[place] << "' twice";
      continue;
    }
    given[place] = {std::move(item), argument.where};
  }
  for (size_t i = 0; i < names.size() && ok; ++i)
    if (!given[i].where && isRequired(i))
      refuse(call.where) << "lacks its parameter '" << names[i] << "'; it takes " << llvm::join(names, ", ");
  if (!ok)
    return std::nullopt;
  return given;
}

Item Elaborator::callDefinition(const Definition &definition, const Expression &expression, Scope &scope) {
  if (depth >= kDeepestCall) {
    fail(expression.where) << "calls nest more than " << kDeepestCall << " deep; '" << expression.text
                           << "' seems to call itself without end";
    return giveUp();
  }
  ArrayRef<Parameter> parameters = definition.parameters;
  SmallVector<StringRef> names;
  bool takesBlock = expression.block != nullptr; // the block is the argument of the last parameter
  for (const Parameter &parameter : parameters)
    names.push_back(parameter.name.text);
  auto isRequired = [&](size_t i) { return !parameters[i].value && !(takesBlock && i + 1 == parameters.size()); };
  if (takesBlock && parameters.empty())
    return fail(expression.where) << "'" << expression.text << "' has no parameter that could be a block";
  std::optional<SmallVector<Given>> given = arrange(expression, names, isRequired, scope);
  if (!given)
    return mistake();
  Scope inner{&file, {}};
  for (auto [parameter, argument] : llvm::zip_equal(parameters, *given)) {
    if (argument.where)
      inner.items[parameter.name.text] = argument.item;
    else if (parameter.value)
      inner.items[parameter.name.text] = evaluate(*parameter.value, inner);
  }
  if (takesBlock)
    inner.items[parameters.back().name.text] =
        BlockItem{expression.block.get(), &scope, path.substr(0, pathOfStatement)};
  ++depth;
  Item result = evaluateBlock(*definition.body, inner);
  --depth;
  if (holdsBlock(result)) { // the block's scope may be the callee's, which has ended
    return fail(expression.where) << "'" << expression.text
                                  << "' gives a block, which cannot leave the call that it came into";
  }
  return result;
}

/// Evaluates a block with the scope and path at which it was written, so its weights are named from there.
Item Elaborator::callBlock(const BlockItem &block, ArrayRef<Item> arguments, LocationAttr where) {
  if (arguments.size() != block.block->parameters.size())
    return fail(where) << "the block takes " << block.block->parameters.size() << " values and gets "
                       << arguments.size();
  if (depth >= kDeepestCall) {
    fail(where) << "calls nest more than " << kDeepestCall << " deep";
    return giveUp();
  }
  Scope inner{block.scope, {}};
  for (auto [name, argument] : llvm::zip_equal(block.block->parameters, arguments))
    inner.items[name.text] = argument;
  std::string outer = std::exchange(path, block.path);
  ++depth;
  Item result = evaluateBlock(*block.block, inner);
  --depth;
  path = std::move(outer);
  return result;
}

//===-- Constants that a construct needs ------------------------------------------------------------------------===//

std::optional<int64_t> Elaborator::whole(const Given &given, const Twine &what, int64_t least) {
  if (given.item.isMistake())
    return std::nullopt;
  const auto *number = given.item.as<NumberItem>();
  if (!number || number->value != std::floor(number->value) || number->value < static_cast<double>(least) ||
      number->value > 1e9) {
    fail(given.where) << what << " is a whole number from " << least << " to 10^9, not " << describe(given.item);
    return std::nullopt;
  }
  return static_cast<int64_t>(number->value);
}

std::optional<double> Elaborator::real(const Given &given, const Twine &what) {
  if (given.item.isMistake())
    return std::nullopt;
  const auto *number = given.item.as<NumberItem>();
  if (!number) {
    fail(given.where) << what << " is a number, not " << describe(given.item);
    return std::nullopt;
  }
  return fitsFloat(number->value, given.where) ? std::optional(number->value) : std::nullopt;
}

bool Elaborator::fitsFloat(double value, LocationAttr where) {
  if (std::abs(value) <= std::numeric_limits<float>::max())
    return true;
  fail(where) << describe(number(value)) << " is beyond the numbers of 32 bits that tensors have, which go to 3.4e38";
  return false;
}

std::optional<bool> Elaborator::flag(const Given &given, const Twine &what) {
  if (given.item.isMistake())
    return std::nullopt;
  const bool *value = given.item.as<bool>();
  if (!value) {
    fail(given.where) << what << " is true or false, not " << describe(given.item);
    return std::nullopt;
  }
  return *value;
}
