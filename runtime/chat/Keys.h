// What filters sort, group and choose by.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

// A path such as "function.name" or "0", from an item to what it is known by.
class KeyPath {
public:
  // Of a text with dots, or of a whole number.
  static Result<KeyPath> parse(const Value &path);

  // `otherwise` stands for a step that leads nowhere; without it the result is undefined.
  Result<Value> of(const Value &item, Environment &environment, const Value *otherwise = nullptr) const;

private:
  Values steps;
};

// The text in lower case, and any other value as it is.
Value withoutCase(const Value &value);

struct KeyedItem {
  Value key, item;
};
// Sorted by their keys; items with equal keys stay in their order.
Status sortByKey(std::vector<KeyedItem> &items, bool isReversed, Environment &environment);

} // namespace heddle::chat
