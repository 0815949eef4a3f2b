// Filters that split, sort or count lists.
#include "runtime/chat/Arguments.h"
#include "runtime/chat/Functions.h"
#include "runtime/chat/Items.h"
#include "runtime/chat/Keys.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/ValueText.h"

#include <algorithm>
#include <unordered_map>

namespace heddle::chat {
namespace {

Result<Value> list(Environment &environment, const Value &value, Arguments &) {
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  return makeList(std::move(items));
}

Result<Value> length(Environment &, const Value &value, Arguments &) {
  HEDDLE_ASSIGN(int64_t length, lengthOf(value));
  return Value(length);
}

Result<Value> first(Environment &environment, const Value &value, Arguments &) {
  Value none = undefinedBecause("No first item, sequence was empty.");
  if (auto *iterator = as<Iterator>(value))
    return iterator->next().value_or(none);
  if (value.list()) // avoids copying all items
    return value.list()->items.empty() ? none : value.list()->items.front();
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  return items.empty() ? none : items.front();
}

Result<Value> last(Environment &environment, const Value &value, Arguments &) {
  if (as<Iterator>(value) || (value.object() && !isIterable(value)) || value.isNone() || value.number())
    return typeError("'", value.typeName(), "' object is not reversible");
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  return items.empty() ? undefinedBecause("No last item, sequence was empty.") : items.back();
}

Result<Value> reverse(Environment &environment, const Value &value, Arguments &) {
  if (value.text())
    return sliceOf(value, Value(), Value(), Value(int64_t(-1)), environment);
  if (!isIterable(value))
    return makeError(ErrorKind::InvalidArgument, "FilterArgumentError: argument must be iterable");
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  std::reverse(items.begin(), items.end());
  return makeObject<Iterator>(std::move(items), "list_reverseiterator");
}

Result<Value> items(Environment &, const Value &value, Arguments &) {
  if (value.missing())
    return makeObject<Iterator>(Values());
  if (!value.dict())
    return typeError("Can only get item pairs from a mapping.");
  return makeObject<Iterator>(View(View::Kind::Items, value.sharedDict()).items());
}

Result<Value> keyOf(const Value &item, const std::optional<KeyPath> &path, bool withCase, Environment &environment) {
  Value key = item;
  if (path) {
    HEDDLE_ASSIGN(key, path->of(item, environment));
  }
  return withCase ? key : withoutCase(key);
}

// Attributes may be a list separated by commas. A key is always a list of values, even for one attribute: lists that
// begin with undefined values can be compared, while undefined values cannot.
Result<std::vector<KeyPath>> pathsOf(const Value &attributes) {
  std::vector<KeyPath> paths;
  std::string_view rest = attributes.text() ? std::string_view(attributes.text()->bytes) : "";
  while (true) {
    size_t end = std::min(rest.find(','), rest.size());
    HEDDLE_ASSIGN(paths.emplace_back(),
                  KeyPath::parse(attributes.text() ? makeText(std::string(rest.substr(0, end))) : attributes));
    if (end == rest.size())
      return paths;
    rest.remove_prefix(end + 1);
  }
}

Values itemsOnly(std::vector<KeyedItem> all) {
  Values items;
  for (KeyedItem &each : all)
    items.push_back(std::move(each.item));
  return items;
}

Result<Value> sort(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  bool withCase = given.flag(1, false);
  std::vector<KeyPath> paths;
  if (given[2] && !given[2]->isNone()) {
    HEDDLE_ASSIGN(paths, pathsOf(*given[2]));
  }
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  std::vector<KeyedItem> all;
  for (const Value &item : items) {
    Values keys;
    for (const KeyPath &path : paths) {
      HEDDLE_ASSIGN(keys.emplace_back(), keyOf(item, path, withCase, environment));
    }
    all.push_back({!paths.empty() ? makeList(std::move(keys)) : withCase ? item : withoutCase(item), item});
  }
  HEDDLE_CHECK(sortByKey(all, given.flag(0, false), environment));
  return makeList(itemsOnly(std::move(all)));
}

Result<Value> unique(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("unique", arguments, {"case_sensitive", "attribute"}));
  HEDDLE_ASSIGN(std::optional<KeyPath> path, KeyPath::parse(given[1]));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  std::unordered_map<size_t, Values> seen;
  Values kept;
  for (const Value &item : items) {
    HEDDLE_ASSIGN(Value key, keyOf(item, path, given.flag(0, false), environment));
    std::optional<size_t> hash = hashOf(key);
    if (!hash)
      return typeError("unhashable type: '", key.typeName(), "'");
    Values &alike = seen[*hash];
    if (std::any_of(alike.begin(), alike.end(),
                    [&](const Value &each) { return equal(each, key, environment.budget); }))
      continue;
    alike.push_back(key);
    kept.push_back(item);
  }
  return makeObject<Iterator>(std::move(kept));
}

template <bool isMost> Result<Value> extreme(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind(isMost ? "max" : "min", arguments, {"case_sensitive", "attribute"}));
  HEDDLE_ASSIGN(std::optional<KeyPath> path, KeyPath::parse(given[1]));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  if (items.empty())
    return undefinedBecause("No aggregated item, sequence was empty.");
  Value best, bestKey;
  for (size_t i = 0; i < items.size(); ++i) {
    HEDDLE_ASSIGN(Value key, keyOf(items[i], path, given.flag(0, false), environment));
    if (i > 0) {
      HEDDLE_ASSIGN(int order, compare(key, bestKey, isMost ? ">" : "<", environment.budget));
      if (isMost ? order <= 0 : order >= 0)
        continue;
    }
    best = items[i];
    bestKey = std::move(key);
  }
  return best;
}

Result<Value> sum(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("sum", arguments, {"attribute", "start"}));
  HEDDLE_ASSIGN(std::optional<KeyPath> path, KeyPath::parse(given[0]));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  Value total = given.valueOr(1, Value(int64_t(0)));
  if (total.text())
    return typeError("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value &item : items) {
    HEDDLE_CHECK(environment.budget.step());
    HEDDLE_ASSIGN(Value each, keyOf(item, path, true, environment));
    HEDDLE_ASSIGN(total, apply(Operator::Add, total, each, environment));
  }
  return total;
}

Result<Value> dictsort(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  HEDDLE_ASSIGN(std::string by, given.text(1, "key"));
  if (by != "key" && by != "value")
    return makeError(ErrorKind::InvalidArgument,
                     "FilterArgumentError: You can only sort by either \"key\" or \"value\"");
  if (value.missing())
    return value.missing()->error();
  if (!value.dict())
    return makeError(ErrorKind::InvalidArgument, "AttributeError: '", value.typeName(),
                     "' object has no attribute 'items'");
  std::vector<KeyedItem> all;
  for (const auto &[key, held] : value.dict()->entries()) {
    const Value &sorted = by == "key" ? key : held;
    all.push_back({given.flag(0, false) ? sorted : withoutCase(sorted), makeTuple({key, held})});
  }
  HEDDLE_CHECK(sortByKey(all, given.flag(2, false), environment));
  return makeList(itemsOnly(std::move(all)));
}

// An element of groupby()'s result: a tuple of a key and its items, which are also attributes.
class Group final : public Object {
public:
  Group(Value key, Values members)
      : Object(sizeof(Group)), pair(makeTuple({std::move(key), makeList(std::move(members))})) {}

  std::string typeName() const override { return "_GroupTuple"; }
  std::string module() const override { return "jinja2.filters."; }
  std::string repr(Budget &budget) const override { return reprOf(pair, budget); }
  unsigned depth() const override { return pair.depth(); }
  Result<std::optional<Value>> attribute(Environment &, std::string_view name) override {
    if (name != "grouper" && name != "list")
      return std::optional<Value>();
    return std::optional(pair.list()->items[name == "list" ? 1 : 0]);
  }
  std::optional<Value> element(const Value &key) const override {
    std::optional<int64_t> index = key.integer();
    if (!index || *index < -2 || *index > 1)
      return std::nullopt;
    return pair.list()->items[size_t(*index < 0 ? *index + 2 : *index)];
  }
  bool hasElements() const override { return true; }
  bool isIterable() const override { return true; }
  std::optional<Values> take() override { return pair.list()->items; }
  std::optional<size_t> length() const override { return 2; }

private:
  Value pair;
};

Result<Value> groupby(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given,
                Parameters::bind("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1));
  HEDDLE_ASSIGN(KeyPath path, KeyPath::parse(*given[0]));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  const Value *otherwise = given[1] && !given[1]->isNone() ? given[1] : nullptr;
  std::vector<KeyedItem> all;
  for (const Value &item : items) {
    HEDDLE_ASSIGN(Value key, path.of(item, environment, otherwise));
    all.push_back({given.flag(2, false) ? key : withoutCase(key), item});
  }
  HEDDLE_CHECK(sortByKey(all, false, environment));
  Values groups;
  for (size_t i = 0; i < all.size();) {
    Values members;
    size_t begin = i;
    for (; i < all.size() && (i == begin || equal(all[i].key, all[begin].key, environment.budget)); ++i)
      members.push_back(all[i].item);
    HEDDLE_ASSIGN(Value key, path.of(members.front(), environment, otherwise));
    groups.push_back(makeObject<Group>(std::move(key), std::move(members)));
  }
  return makeList(std::move(groups));
}

// Splits items into lists of `linecount` items. The last list is filled up if `fill_with` is given.
Result<Value> batch(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("batch", arguments, {"linecount", "fill_with"}, 1));
  HEDDLE_ASSIGN(int64_t size, given.whole(0, 1));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  Values batches, batch;
  for (const Value &item : items) {
    if (int64_t(batch.size()) == size)
      batches.push_back(makeList(std::exchange(batch, {})));
    batch.push_back(item);
  }
  if (!batch.empty()) {
    if (given[1] && !given[1]->isNone() && int64_t(batch.size()) < size) {
      HEDDLE_CHECK(environment.budget.room(uint64_t(std::min(size, int64_t(UINT32_MAX))) * sizeof(Value)));
      batch.resize(size_t(size), *given[1]);
    }
    batches.push_back(makeList(std::move(batch)));
  }
  return makeObject<Iterator>(std::move(batches));
}

// Splits items into `slices` lists whose lengths differ by at most one.
Result<Value> slice(Environment &environment, const Value &value, Arguments &arguments) {
  HEDDLE_ASSIGN(Parameters given, Parameters::bind("slice", arguments, {"slices", "fill_with"}, 1));
  HEDDLE_ASSIGN(int64_t slices, given.whole(0, 1));
  HEDDLE_ASSIGN(Values items, itemsOf(value, environment));
  if (slices == 0)
    return makeError(ErrorKind::InvalidArgument, "ZeroDivisionError: integer division or modulo by zero");
  if (slices < 0)
    return makeObject<Iterator>(Values());
  HEDDLE_CHECK(environment.budget.room(uint64_t(std::min(slices, int64_t(UINT32_MAX))) * sizeof(List)));
  size_t count = size_t(slices), each = items.size() / count, longer = items.size() % count, begin = 0;
  Values columns;
  for (size_t i = 0; i < count; ++i) {
    size_t end = begin + each + (i < longer ? 1 : 0);
    Values column(items.begin() + std::ptrdiff_t(begin), items.begin() + std::ptrdiff_t(end));
    if (given[1] && !given[1]->isNone() && i >= longer)
      column.push_back(*given[1]);
    columns.push_back(makeList(std::move(column)));
    begin = end;
  }
  return makeObject<Iterator>(std::move(columns));
}

constexpr NamedFilter kFilters[] = {
    {"batch", batch},        {"count", length},    {"dictsort", dictsort}, {"first", first}, {"groupby", groupby},
    {"items", items},        {"last", last},       {"length", length},     {"list", list},   {"max", extreme<true>},
    {"min", extreme<false>}, {"reverse", reverse}, {"slice", slice},       {"sort", sort},   {"sum", sum},
    {"unique", unique}};

} // namespace

std::span<const NamedFilter> listFilters() { return kFilters; }

} // namespace heddle::chat
