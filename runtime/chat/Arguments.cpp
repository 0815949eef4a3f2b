#include "runtime/chat/Arguments.h"

#include "runtime/chat/Operators.h"

#include <algorithm>

namespace heddle::chat {

Result<Parameters> Parameters::bind(std::string_view function, Arguments &arguments,
                                    std::initializer_list<std::string_view> names, size_t required) {
  Parameters bound;
  bound.function = function;
  bound.names = names;
  bound.values.resize(names.size());
  if (arguments.positional.size() > names.size())
    return typeError(function, "() takes at most ", names.size(), names.size() == 1 ? " argument (" : " arguments (",
                     arguments.positional.size(), " given)");
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    bound.values[i] = arguments.positional[i];
  for (auto &[name, value] : arguments.named) {
    size_t index = size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (index == names.size())
      return typeError(function, "() got an unexpected keyword argument '", name, "'");
    if (bound.values[index])
      return typeError(function, "() got multiple values for argument '", name, "'");
    bound.values[index] = value;
  }
  for (size_t i = 0; i < required; ++i)
    if (!bound.values[i])
      return typeError(function, "() missing 1 required positional argument: '", bound.names[i], "'");
  return bound;
}

Result<int64_t> Parameters::whole(size_t index, int64_t otherwise) const {
  if (!values[index])
    return otherwise;
  if (values[index]->missing())
    return values[index]->missing()->error();
  if (std::optional<int64_t> value = values[index]->integer())
    return *value;
  return typeError("'", values[index]->typeName(), "' object cannot be interpreted as an integer");
}

Result<std::string> Parameters::text(size_t index, std::string_view otherwise) const {
  if (!values[index])
    return std::string(otherwise);
  if (values[index]->missing())
    return values[index]->missing()->error();
  if (const Text *value = values[index]->text())
    return value->bytes;
  return typeError(function, "() argument '", names[index], "' must be str, not ", values[index]->typeName());
}

bool Parameters::flag(size_t index, bool otherwise) const { return values[index] ? isTrue(*values[index]) : otherwise; }

Status requireText(const Value &value, std::string_view demand) {
  if (value.missing())
    return value.missing()->error();
  if (!value.text())
    return typeError(demand, ", not ", value.typeName());
  return Success();
}

} // namespace heddle::chat
