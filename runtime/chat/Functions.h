// The built-in filters, tests and global functions.
#pragma once

#include "runtime/chat/Object.h"

#include <span>
#include <string_view>

namespace heddle::chat {

using Filter = Result<Value> (*)(Environment &environment, const Value &value, Arguments &arguments);
using Test = Result<bool> (*)(Environment &environment, const Value &value, Arguments &arguments);

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
struct NamedTest {
  std::string_view name;
  Test test;
};

// Null if there is none with that name.
const Filter *findFilter(std::string_view name);
const Test *findTest(std::string_view name);
Error noSuchFilter(std::string_view name);
Error noSuchTest(std::string_view name);

// The filters, grouped by the values that they work on. findFilter() searches all of them.
std::span<const NamedFilter> textFilters();
std::span<const NamedFilter> listFilters();
std::span<const NamedFilter> choiceFilters();
std::span<const NamedFilter> numberFilters();

// `range`, `namespace`, `dict`, `cycler`, `joiner`, `raise_exception`, `strftime_now`.
std::vector<std::pair<std::string, Value>> globalFunctions();

// The error that raise_exception() raises with this message.
Error raisedError(std::string_view message);

} // namespace heddle::chat
