// Arguments of a built-in function, bound to the names of its parameters.
#pragma once

#include "runtime/chat/Object.h"

#include <initializer_list>

namespace heddle::chat {

// A call's arguments in the order of the parameters. Omitted arguments are null.
class Parameters {
public:
  // Fails if there are more arguments than parameters, if an argument is unknown or given twice, or if one of the first
  // `required` arguments is missing. `function` is for messages.
  static Result<Parameters> bind(std::string_view function, Arguments &arguments,
                                 std::initializer_list<std::string_view> names, size_t required = 0);

  const Value *operator[](size_t index) const { return values[index] ? &*values[index] : nullptr; }
  Value valueOr(size_t index, Value otherwise) const { return values[index].value_or(std::move(otherwise)); }

  // Returns `otherwise` if the argument is omitted. Values of other types are errors.
  Result<int64_t> whole(size_t index, int64_t otherwise) const;
  // The same, also for None.
  Result<int64_t> wholeOrNone(size_t index, int64_t otherwise) const {
    return values[index] && values[index]->isNone() ? otherwise : whole(index, otherwise);
  }
  Result<std::string> text(size_t index, std::string_view otherwise) const;
  // Converts any value to true or false.
  bool flag(size_t index, bool otherwise) const;

private:
  std::string function;
  std::vector<std::string_view> names;
  std::vector<std::optional<Value>> values;
};

// Fails if the value is not a text. `demand` is for the message, for example "must be str".
Status requireText(const Value &value, std::string_view demand);

} // namespace heddle::chat
