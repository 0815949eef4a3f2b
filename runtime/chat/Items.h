// The contents of values: items, elements, slices and attributes, as jinja2's sandbox exposes them to templates.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

bool isIterable(const Value &value);

// The items that a loop over the value visits: elements, a dictionary's keys, or a text's characters. An undefined
// value has none. Consumes the items of an iterator.
Result<Values> itemsOf(const Value &value, Environment &environment);

// Python's len().
Result<int64_t> lengthOf(const Value &value);
std::optional<size_t> lengthIfAny(const Value &value);

// `value.name`: an attribute, such as a method, takes precedence over an element of that name. Undefined if neither
// exists.
Result<Value> attributeOf(const Value &value, std::string_view name, Environment &environment);
// `value[key]`: an element takes precedence over an attribute of that name.
Result<Value> elementOf(const Value &value, const Value &key, Environment &environment);
// `value[lower:upper:step]`; each bound may be None.
Result<Value> sliceOf(const Value &value, const Value &lower, const Value &upper, const Value &step,
                      Environment &environment);
// Only an attribute, never an element; nothing if there is none.
Result<std::optional<Value>> onlyAttribute(const Value &value, std::string_view name, Environment &environment);

Result<Value> call(const Value &callee, Arguments arguments, Environment &environment);

} // namespace heddle::chat
