// Python's two ways to put values into a text.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

// `text % values`: one value, a tuple of them, or a dictionary for %(name)s.
Result<Value> percentFormat(const Text &text, const Value &values, Environment &environment);

// `text.format(...)`.
Result<Value> braceFormat(const Text &text, const Arguments &arguments, Environment &environment);

// How a value is written into a field.
struct FieldFormat {
  std::string fill = " ";
  char align = 0; // '<', '>', '^' or '='; 0: as the type has it
  char sign = '-';
  bool isAlternate = false; // 0x in front of hexadecimal numbers
  bool hasCommas = false;
  char separator = ',';
  int64_t width = 0, precision = -1;
  char type = 0; // 's', 'd', 'x', 'o', 'b', 'c', 'e', 'f', 'g', '%'; 0: as the value's type has it
};
Result<std::string> formatValue(const Value &value, const FieldFormat &format, Environment &environment);

} // namespace heddle::chat
