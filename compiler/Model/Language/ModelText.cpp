#include "compiler/Model/Language/ModelText.h"

#include "compiler/Model/Language/Elaborator.h"
#include "compiler/Model/Language/Lexer.h"
#include "compiler/Model/Language/Parser.h"
#include "compiler/Model/Language/Parts.h"
#include "compiler/Model/Language/Tasks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/schema/Tasks.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

/// Maximum number of texts that a text uses, directly and indirectly.
static constexpr size_t kMostTexts = 32;

//===-- Reading -------------------------------------------------------------------------------------------------===//

namespace {

struct LibraryText {
  StringRef name, text;
};

const LibraryText kLibrary[] = {
#include "compiler/Model/Language/Library.inc"
};

} // namespace

StringRef language::findLibraryText(StringRef name) {
  const auto *found = llvm::find_if(kLibrary, [&](const LibraryText &text) { return text.name == name; });
  return found == std::end(kLibrary) ? StringRef() : found->text;
}

ArrayRef<StringRef> language::getLibraryTexts() {
  static const SmallVector<StringRef> names =
      llvm::to_vector(llvm::map_range(kLibrary, [](const LibraryText &text) { return text.name; }));
  return names;
}

ArrayRef<StringRef> language::getOptimizers() {
  static const StringRef names[] = {"adamw", "sgd", "lion", "adafactor", "muon"};
  return names;
}

std::string language::getLibraryFingerprint(StringRef name) {
  constexpr StringLiteral kRevision = "\n# revision ";
  StringRef text = findLibraryText(name), revision = "1";
  if (size_t place = text.find(kRevision); place != StringRef::npos)
    revision = text.drop_front(place + kRevision.size()).take_until([](char c) { return c == '\n'; });
  return (name + " " + revision).str();
}

SmallVector<std::reference_wrapper<const PublishedSection>> ModelText::getPublishedSections() const {
  SmallVector<std::reference_wrapper<const PublishedSection>> sections;
  for (const std::shared_ptr<Text> &text : texts)
    if (text->published)
      sections.push_back(std::cref(*text->published));
  return sections;
}

std::string language::ModelText::getFingerprint() const {
  std::string all;
  for (const std::shared_ptr<Text> &text : texts) {
    bool declaresNothing =
        text->parameters.empty() && text->definitions.empty() && text->parts.empty() && text->statements.empty();
    bool isSilent = declaresNothing || text->isOptimizer; // says nothing of the model's computation
    if (!isSilent)
      all += (all.empty() ? "" : ", ") + text->fingerprint;
  }
  return all;
}

namespace {

/// Reads a text and the texts that it uses, each once. A text comes after the texts that it uses.
class TextReader {
public:
  TextReader(MLIRContext *context) : context(context) {}

  LogicalResult readLibrary(StringRef name, LocationAttr where) {
    if (!seen.insert(name).second)
      return success();
    if (seen.size() > kMostTexts)
      return emitError(Location(where)) << "the text uses more than " << kMostTexts << " others";
    StringRef text = findLibraryText(name);
    if (text.empty()) {
      StringRef nearest = findNearest(name, getLibraryTexts());
      return emitError(Location(where)) << "there is no text '" << name << "' to use"
                                        << (nearest.empty()
                                                ? "; Heddle brings along " + llvm::join(getLibraryTexts(), ", ")
                                                : "; the nearest is '" + nearest.str() + "'");
    }
    return read((name + ".weft").str(), text);
  }

  LogicalResult read(const std::string &path, StringRef text) {
    FailureOr<Text> parsed = parse(context, path, text);
    if (failed(parsed))
      return failure();
    StringRef name = StringRef(path).rsplit('.').first;
    parsed->fingerprint = findLibraryText(name) == text ? getLibraryFingerprint(name) : hashTokens(path, text);
    if (failed(checkNames(parsed->parameters)) || failed(checkNames(parsed->definitions)) ||
        failed(checkNames(parsed->parts)))
      return failure();
    parsed->isOptimizer = !parsed->task && parsed->parts.size() == 1 && parsed->parts.front().name.text == kUpdate;
    for (const Name &used : parsed->uses)
      if (failed(readLibrary(used.text, used.where)))
        return failure();
    texts.push_back(std::make_shared<Text>(std::move(*parsed)));
    return success();
  }

  std::vector<std::shared_ptr<Text>> texts;

private:
  /// A text may redefine names of the texts that it uses, but may define each name only once itself.
  template <typename Declaration> static LogicalResult checkNames(const std::vector<Declaration> &declarations) {
    llvm::StringSet<> names;
    for (const Declaration &declaration : declarations)
      if (!names.insert(declaration.name.text).second)
        return emitError(Location(declaration.name.where))
               << "the text has a '" << declaration.name.text << "' already; remove or rename either";
    return success();
  }

  /// The hash of the tokens of a text that has been parsed. It ignores empty lines.
  std::string hashTokens(StringRef path, StringRef text) const {
    FailureOr<std::vector<Token>> tokens = tokenize(context, path, text);
    std::string joined;
    bool endsLine = false;
    for (const Token &token : succeeded(tokens) ? *tokens : std::vector<Token>()) {
      if (token.kind == Token::NewLine || token.kind == Token::End) {
        endsLine = !joined.empty();
        continue;
      }
      if (std::exchange(endsLine, false))
        joined.push_back('\n');
      joined.push_back(static_cast<char>('0' + token.kind));
      joined += token.text;
      joined.push_back('\0');
    }
    return llvm::utohexstr(llvm::xxh3_64bits(joined), /*LowerCase=*/true);
  }

  MLIRContext *context;
  llvm::StringSet<> seen;
};

} // namespace

FailureOr<ModelText> ModelText::readTexts(MLIRContext *context, StringRef path, StringRef text) {
  context->loadDialect<HeddleDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect>();
  ModelText model;
  model.context = context;
  model.start = FileLineColLoc::get(context, path, 1, 1);
  TextReader reader(context);
  if (failed(reader.readLibrary("layers", model.start)) || failed(reader.read(path.str(), text)))
    return failure();
  model.texts = std::move(reader.texts);
  model.source = text.str();
  return model;
}

FailureOr<ModelText> ModelText::readOptimizer(MLIRContext *context, StringRef path, StringRef text) {
  FailureOr<ModelText> model = readTexts(context, path, text);
  if (succeeded(model) && !model->findUpdate())
    return emitError(Location(model->start))
           << "the text has no part 'update', the optimizer's step; write `update(weight, gradient) { ... }`";
  return model;
}

const Part *ModelText::findUpdate() const {
  for (const std::shared_ptr<Text> &text : llvm::reverse(texts))
    for (const Part &part : text->parts)
      if (part.name.text == kUpdate)
        return &part;
  return nullptr;
}

StringRef ModelText::getPath() const { return cast<FileLineColLoc>(start).getFilename().getValue(); }

FailureOr<ModelText> ModelText::read(MLIRContext *context, StringRef path, StringRef text) {
  FailureOr<ModelText> texts = readTexts(context, path, text);
  if (failed(texts))
    return failure();
  ModelText &model = *texts;
  LocationAttr where = model.start;
  for (const std::shared_ptr<Text> &part : model.texts)
    if (part->task) {
      model.task = part->task->text;
      where = part->task->where;
    }
  auto tasks = llvm::map_to_vector(::heddle::schema::kTasks, [](const auto &known) { return StringRef(known.name); });
  if (model.task.empty())
    return emitError(Location(where)) << "the text does not say what the model is for; begin it with `task` and one of "
                                      << llvm::join(tasks, ", ");
  if (!llvm::is_contained(tasks, model.task)) {
    StringRef nearest = findNearest(model.task, tasks);
    return emitError(Location(where)) << "there is no task '" << model.task << "'; "
                                      << (nearest.empty() ? "the tasks are " + llvm::join(tasks, ", ")
                                                          : "the nearest is '" + nearest.str() + "'");
  }
  return model;
}

//===-- Parameters ----------------------------------------------------------------------------------------------===//

static std::string showValue(const Item &item) {
  if (const auto *text = item.as<std::string>())
    return "\"" + *text + "\"";
  if (const bool *flag = item.as<bool>())
    return *flag ? "true" : "false";
  if (const auto *list = item.as<ListItem>())
    return "[" + llvm::join(llvm::map_range(*list, showValue), ", ") + "]";
  std::string shown;
  llvm::raw_string_ostream(shown) << llvm::format("%.10g", item.as<NumberItem>()->value);
  return shown;
}

std::optional<Setting> language::toSetting(const Item &item, LocationAttr where) {
  Setting setting{false, where};
  if (const auto *value = item.as<NumberItem>()) {
    if (value->isWhole && std::abs(value->value) < 9e15)
      setting.value = static_cast<int64_t>(value->value);
    else
      setting.value = value->value;
  } else if (const bool *flag = item.as<bool>()) {
    setting.value = *flag;
  } else if (const auto *text = item.as<std::string>()) {
    setting.value = *text;
  } else if (const auto *list = item.as<ListItem>()) {
    std::vector<double> numbers;
    for (const Item &one : *list) {
      if (!one.as<NumberItem>())
        return std::nullopt;
      numbers.push_back(one.as<NumberItem>()->value);
    }
    setting.value = std::move(numbers);
  } else {
    return std::nullopt;
  }
  return setting;
}

static Item toNumber(double value) { return NumberItem{value, value == std::floor(value)}; }

Item language::toItem(const Setting &setting) {
  return std::visit(
      [](const auto &value) -> Item {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t>)
          return wholeNumber(value);
        else if constexpr (std::is_same_v<T, double>)
          return number(value);
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return ListItem(llvm::map_range(value, toNumber).begin(), llvm::map_range(value, toNumber).end());
        else
          return value;
      },
      setting.value);
}

namespace {

/// The default and the allowed values of a parameter.
struct Allowed {
  std::optional<Item> value; // the default
  SmallVector<Item> choices;
  std::optional<double> low, high;

  std::string describe() const {
    if (!choices.empty())
      return llvm::join(llvm::map_range(choices, showValue), " or ");
    if (low)
      return "a number from " + showValue(number(*low)) + " to " + showValue(number(*high));
    if (value->as<ListItem>())
      return "a list of numbers";
    return value->as<bool>() ? "true or false" : value->as<std::string>() ? "a string" : "a number";
  }
  bool takes(const Item &item) const {
    if (!choices.empty())
      return llvm::any_of(choices, [&](const Item &choice) { return showValue(choice) == showValue(item); });
    const auto *number = item.as<NumberItem>();
    if (low)
      return number && number->value >= *low && number->value <= *high;
    return !value || value->index() == item.index();
  }
};

} // namespace

bool ModelText::isOfOptimizer(StringRef parameter) const {
  auto declares = [&](const std::shared_ptr<Text> &text) {
    return llvm::any_of(text->parameters, [&](const Parameter &one) { return one.name.text == parameter; });
  };
  return llvm::any_of(texts, declares) &&
         llvm::all_of(texts, [&](const std::shared_ptr<Text> &text) { return text->isOptimizer || !declares(text); });
}

bool ModelText::hasParameter(StringRef name) const {
  return llvm::any_of(texts, [&](const std::shared_ptr<Text> &text) {
    return llvm::any_of(text->parameters, [&](const Parameter &parameter) { return parameter.name.text == name; });
  });
}

StringRef ModelText::findNearestParameter(StringRef name) const {
  SmallVector<StringRef> names;
  for (const std::shared_ptr<Text> &text : texts)
    for (const Parameter &parameter : text->parameters)
      names.push_back(parameter.name.text);
  return findNearest(name, names);
}

LogicalResult ModelText::setParameters(const Settings &given) {
  Elaborator elaborator(*this);
  Scope scope;
  // A text may redefine a parameter of a text that it uses, with another default.
  SmallVector<const Parameter *> order;
  llvm::StringMap<size_t> places; // indices in `order`
  for (const std::shared_ptr<Text> &text : texts)
    for (const Parameter &parameter : text->parameters) {
      auto [known, isNew] = places.try_emplace(parameter.name.text, order.size());
      if (isNew)
        order.push_back(&parameter);
      else
        order[known->second] = &parameter;
    }
  bool ok = true;
  for (const Parameter *parameter : order) {
    StringRef name = parameter->name.text;
    auto refuse = [&](LocationAttr where) {
      ok = false;
      // A flag has no line to point at, so the message names the flag instead.
      auto flag = dyn_cast<NameLoc>(where);
      InFlightDiagnostic error = emitError(Location(where));
      if (flag)
        error << flag.getName().getValue() << ": ";
      return std::move(error << "the parameter '" << name << "' ");
    };
    auto constant = [&](const ExpressionPtr &expression) {
      Item item = elaborator.evaluate(*expression, scope);
      const auto *list = item.as<ListItem>();
      bool isList = list && llvm::all_of(*list, [](const Item &one) { return one.as<NumberItem>(); });
      bool isConstant = item.as<NumberItem>() || item.as<bool>() || item.as<std::string>() || isList;
      if (!isConstant && !item.isMistake())
        refuse(expression->where) << "is a number, a string, a flag or a list of numbers, not "
                                  << elaborator.describe(item);
      return isConstant ? item : Item();
    };
    Allowed allowed;
    if (parameter->value)
      allowed.value = constant(parameter->value);
    if (!parameter->choices.empty())
      allowed.choices.push_back(*allowed.value);
    for (const ExpressionPtr &choice : parameter->choices)
      allowed.choices.push_back(constant(choice));
    if (parameter->low) {
      Item low = constant(parameter->low), high = constant(parameter->high);
      if (!low.as<NumberItem>() || !high.as<NumberItem>()) {
        refuse(parameter->low->where) << "has bounds that are no numbers";
        continue;
      }
      allowed.low = low.as<NumberItem>()->value, allowed.high = high.as<NumberItem>()->value;
    }
    auto isMistake = [](const Item &item) { return item.isMistake(); };
    if (elaborator.hasFailed() || !ok || (allowed.value && allowed.value->isMistake()) ||
        llvm::any_of(allowed.choices, isMistake)) {
      ok = false;
      continue;
    }
    auto outside = given.find(name);
    Item item;
    LocationAttr where = parameter->name.where;
    if (outside != given.end()) {
      item = toItem(outside->getValue());
      where = outside->getValue().where;
    } else if (allowed.value) {
      item = *allowed.value;
    } else {
      refuse(where) << "has no value; give it one with --set " << name << "=VALUE, or a default here: `param " << name
                    << " = VALUE`";
      continue;
    }
    if (!allowed.takes(item)) {
      refuse(where) << "is " << allowed.describe() << ", not " << showValue(item);
      continue;
    }
    scope.items[name.str()] = item;
    parameters[name] = *toSetting(item, where);
  }
  return success(ok && !elaborator.hasFailed());
}

LogicalResult ModelText::elaborate(ModuleOp module, const Limits &limits) const {
  return Elaborator(*this, module, limits).run();
}
