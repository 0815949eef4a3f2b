// Look-up of filters by name, and the global functions.
#include "runtime/chat/Functions.h"

#include "runtime/chat/Arguments.h"
#include "runtime/chat/Clock.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace heddle::chat {
namespace {

// jinja2's sandbox refuses longer ranges.
constexpr size_t kLongestRange = 100'000;
// Far from the limits of 64 bits, so that the number after the last one cannot overflow.
constexpr int64_t kLargestBound = int64_t(1) << 60;

constexpr std::string_view kOtherFilters[] = {"filesizeformat", "random",   "striptags", "urlencode",
                                              "urlize",         "wordwrap", "xmlattr"};

Result<Value> makeRange(Environment &, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("range", arguments, {"start", "stop", "step"}, 1));
  HEDDLE_ASSIGN(int64_t first, given.whole(0, 0));
  HEDDLE_ASSIGN(int64_t second, given.whole(1, first));
  HEDDLE_ASSIGN(int64_t step, given.whole(2, 1));
  if (step == 0)
    return valueError("range() arg 3 must not be zero");
  for (int64_t bound : {first, second, step})
    if (bound > kLargestBound || bound < -kLargestBound)
      return makeError(ErrorKind::Unsupported, "OverflowError: range() takes numbers up to 2^60");
  Value range = makeObject<Range>(given[1] ? first : 0, second, step);
  if (as<Range>(range)->count > kLongestRange)
    return makeError(ErrorKind::Unsupported, "OverflowError: Range too big. The sandbox blocks ranges larger than"
                                             " MAX_RANGE (100000).");
  return range;
}

// The entries of `dict(pairs, name=value)` or `namespace(pairs, name=value)`.
Result<std::vector<Dict::Entry>> entriesOf(Environment &environment, Arguments &arguments, const char *name) {
  std::vector<Dict::Entry> entries;
  if (arguments.positional.size() > 1)
    return typeError(name, " expected at most 1 argument, got ", arguments.positional.size());
  if (!arguments.positional.empty()) {
    const Value &given = arguments.positional[0];
    if (given.dict()) {
      entries = given.dict()->entries();
    } else {
      HEDDLE_ASSIGN(Values items, itemsOf(given, environment));
      for (const Value &item : items) {
        if (!isIterable(item))
          return typeError("cannot convert dictionary update sequence element to a sequence");
        HEDDLE_ASSIGN(Values pair, itemsOf(item, environment));
        if (pair.size() != 2)
          return valueError("dictionary update sequence element has length ", pair.size(), "; 2 is required");
        if (!hashOf(pair[0]))
          return typeError("unhashable type: '", pair[0].typeName(), "'");
        entries.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (const auto &[key, value] : arguments.named)
    entries.emplace_back(makeText(key), value);
  return entries;
}

Result<Value> dictOf(Environment &environment, Arguments &arguments) {
  HEDDLE_ASSIGN(std::vector<Dict::Entry> entries, entriesOf(environment, arguments, "dict"));
  return makeDict(std::move(entries));
}

Result<Value> namespaceOf(Environment &environment, Arguments &arguments) {
  HEDDLE_ASSIGN(std::vector<Dict::Entry> entries, entriesOf(environment, arguments, "namespace"));
  auto space = std::make_shared<Namespace>();
  environment.namespaces.push_back(space);
  for (const auto &[key, value] : entries)
    if (key.text())
      space->set(key.text()->bytes, value);
  return Value(std::shared_ptr<Object>(space));
}

// cycler('odd', 'even'), with next(), reset() and current.
class Cycler final : public Object {
public:
  explicit Cycler(Values given)
      : Object(sizeof(Cycler) + given.size() * sizeof(Value)), items(std::move(given)),
        deepest(makeTuple(items).depth()) {}

  std::string typeName() const override { return "Cycler"; }
  std::string module() const override { return "jinja2.utils."; }
  unsigned depth() const override { return deepest; }

  Result<std::optional<Value>> attribute(Environment &, std::string_view name) override {
    if (name == "current")
      return std::optional(items[place]);
    if (name != "next" && name != "reset")
      return std::optional<Value>();
    auto self = std::static_pointer_cast<Cycler>(shared_from_this());
    return std::optional(makeObject<Function>(
        std::string(name),
        [self, isReset = name == "reset"](Environment &, Arguments &) -> Result<Value> {
          Value current = isReset ? Value() : self->items[self->place];
          self->place = isReset ? 0 : (self->place + 1) % self->items.size();
          return current;
        },
        deepest));
  }

private:
  Values items;
  size_t place = 0;
  unsigned deepest;
};

Result<Value> cyclerOf(Environment &, Arguments &arguments) {
  if (arguments.positional.empty())
    return runtimeError("at least one item has to be provided");
  return makeObject<Cycler>(arguments.positional);
}

// joiner(', '): the first call returns nothing, later calls return the separator.
Result<Value> joinerOf(Environment &, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("joiner", arguments, {"sep"}));
  auto wasCalled = std::make_shared<bool>(false);
  Value separator = given.valueOr(0, makeText(", "));
  return makeObject<Function>(
      "joiner",
      [wasCalled, separator](Environment &, Arguments &) -> Result<Value> {
        return std::exchange(*wasCalled, true) ? separator : makeText("");
      },
      separator.depth());
}

Result<Value> raiseException(Environment &environment, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("raise_exception", arguments, {"message"}, 1));
  return raisedError(textOf(*given[0], environment.budget));
}

Result<Value> strftimeNow(Environment &environment, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("strftime_now", arguments, {"format"}, 1));
  HEDDLE_ASSIGN(std::string format, given.text(0, ""));
  HEDDLE_CHECK(environment.budget.room(format.size() * 16));
  return makeText(formatTime(environment.now, format));
}

} // namespace

const Filter *findFilter(std::string_view name) {
  static const auto all = [] {
    std::unordered_map<std::string_view, const Filter *> table;
    for (auto filters : {textFilters(), listFilters(), choiceFilters(), numberFilters()})
      for (const NamedFilter &each : filters)
        table.emplace(each.name, &each.filter);
    return table;
  }();
  auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

Error noSuchFilter(std::string_view name) {
  if (std::find(std::begin(kOtherFilters), std::end(kOtherFilters), name) != std::end(kOtherFilters))
    return makeError(ErrorKind::Unsupported, "TemplateRuntimeError: Heddle does not have jinja2's filter '", name, "'");
  return runtimeError("No filter named ", reprOf(name), " found.");
}

Error noSuchTest(std::string_view name) { return runtimeError("No test named ", reprOf(name), " found."); }

Error raisedError(std::string_view message) {
  return makeError(ErrorKind::InvalidArgument, "TemplateError: ", message);
}

std::vector<std::pair<std::string, Value>> globalFunctions() {
  constexpr std::pair<const char *, Result<Value> (*)(Environment &, Arguments &)> kFunctions[] = {
      {"cycler", cyclerOf},         {"dict", dictOf},     {"joiner", joinerOf},
      {"namespace", namespaceOf},   {"range", makeRange}, {"raise_exception", raiseException},
      {"strftime_now", strftimeNow}};
  std::vector<std::pair<std::string, Value>> functions;
  for (const auto &[name, body] : kFunctions)
    functions.emplace_back(name, makeObject<Function>(name, body));
  return functions;
}

} // namespace heddle::chat
