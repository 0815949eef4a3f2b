// The keys by which filters sort, group and select items.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

// A path such as "function.name" or "0" that leads from an item to its key.
class KeyPath {
public:
  // Parses a text with dots, or a whole number.
  static Result<KeyPath> parse(const Value &path);
  // Nothing if the argument is omitted or None.
  static Result<std::optional<KeyPath>> parse(const Value *path) {
    if (!path || path->isNone())
      return std::optional<KeyPath>();
    HEDDLE_ASSIGN(KeyPath parsed, parse(*path));
    return std::optional(std::move(parsed));
  }

  // The key of an item. If a step of the path does not exist, it is `otherwise`, or undefined without `otherwise`.
  Result<Value> of(const Value &item, Environment &environment, const Value *otherwise = nullptr) const;

private:
  Values steps;
};

// A text in lower case; any other value unchanged.
Value withoutCase(const Value &value);

struct KeyedItem {
  Value key, item;
};
// A stable sort by the keys.
Status sortByKey(std::vector<KeyedItem> &items, bool isReversed, Environment &environment);

} // namespace heddle::chat
