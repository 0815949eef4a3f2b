#include "runtime/chat/Keys.h"

#include "runtime/chat/Items.h"
#include "runtime/chat/Operators.h"
#include "runtime/chat/Strings.h"

#include <algorithm>
#include <charconv>

namespace heddle::chat {

Result<KeyPath> KeyPath::parse(const Value &path) {
  KeyPath parsed;
  if (path.integer()) {
    parsed.steps.push_back(path);
    return parsed;
  }
  if (!path.text())
    return typeError("an attribute to look up is a text or a number, not ", path.typeName());
  std::string_view rest = path.text()->bytes;
  while (true) {
    size_t end = std::min(rest.find('.'), rest.size());
    std::string_view step = rest.substr(0, end);
    bool isNumber = !step.empty() && step.size() < 18 && step.find_first_not_of("0123456789") == std::string_view::npos;
    int64_t index = 0;
    std::from_chars(step.data(), step.data() + step.size(), index);
    parsed.steps.push_back(isNumber ? Value(index) : makeText(std::string(step)));
    if (end == rest.size())
      return parsed;
    rest.remove_prefix(end + 1);
  }
}

Result<Value> KeyPath::of(const Value &item, Environment &environment, const Value *otherwise) const {
  Value value = item;
  for (const Value &step : steps) {
    environment.budget.spend(1);
    HEDDLE_ASSIGN(value, elementOf(value, step, environment));
    if (value.missing() && otherwise)
      value = *otherwise;
  }
  return value;
}

Value withoutCase(const Value &value) {
  return value.text() ? makeText(lowerCaseOf(value.text()->bytes), value.text()->isMarkup) : value;
}

// A merge sort, since comparisons may fail.
Status sortByKey(std::vector<KeyedItem> &items, bool isReversed, Environment &environment) {
  std::vector<KeyedItem> merged(items.size());
  for (size_t width = 1; width < items.size(); width *= 2) {
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      size_t middle = std::min(begin + width, items.size()), end = std::min(begin + 2 * width, items.size());
      size_t left = begin, right = middle;
      for (size_t place = begin; place < end; ++place) {
        bool fromRight = left == middle;
        if (left < middle && right < end) {
          HEDDLE_CHECK(environment.budget.step());
          HEDDLE_ASSIGN(int order, compare(items[right].key, items[left].key, "<", environment.budget));
          fromRight = isReversed ? order > 0 : order < 0;
        }
        merged[place] = std::move(items[fromRight ? right++ : left++]);
      }
    }
    std::swap(items, merged);
  }
  return Success();
}

} // namespace heddle::chat
