// What values hold: items, elements, slices and attributes, as jinja2's sandbox gives them to a template.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

bool isIterable(const Value &value);

// What a loop over the value visits: elements, keys of a dictionary, characters of a text. Nothing of an undefined
// value. Items of an iterator are gone afterwards.
Result<Values> itemsOf(const Value &value, Environment &environment);

// As Python's len().
Result<int64_t> lengthOf(const Value &value);
std::optional<size_t> lengthIfAny(const Value &value);

// `value.name`: an attribute, such as a method, goes before an element of that name. Undefined if there is neither.
Result<Value> attributeOf(const Value &value, std::string_view name, Environment &environment);
// `value[key]`: an element goes before an attribute of that name.
Result<Value> elementOf(const Value &value, const Value &key, Environment &environment);
// `value[lower:upper:step]`; each bound may be None.
Result<Value> sliceOf(const Value &value, const Value &lower, const Value &upper, const Value &step,
                      Environment &environment);
// An attribute alone, never an element; nothing if there is none.
Result<std::optional<Value>> onlyAttribute(const Value &value, std::string_view name, Environment &environment);

Result<Value> call(const Value &callee, Arguments arguments, Environment &environment);

} // namespace heddle::chat
