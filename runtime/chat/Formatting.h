// Python's two ways to insert values into a text.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

// `text % values`. `values` is a single value, a tuple, or a dictionary for %(name)s.
Result<Value> percentFormat(const Text &text, const Value &values, Environment &environment);

// `text.format(...)`.
Result<Value> braceFormat(const Text &text, const Arguments &arguments, Environment &environment);

// The format of a field.
struct FieldFormat {
  std::string fill = " ";
  char align = 0; // '<', '>', '^' or '='; 0: the default of the value's type
  char sign = '-';
  bool isAlternate = false; // prefixes hexadecimal numbers with 0x
  bool hasCommas = false;
  char separator = ',';
  int64_t width = 0, precision = -1;
  char type = 0; // 's', 'd', 'x', 'o', 'b', 'c', 'e', 'f', 'g', '%'; 0: the default of the value's type
};
Result<std::string> formatValue(const Value &value, const FieldFormat &format, Environment &environment);

} // namespace heddle::chat
