// Methods of Python's strings, lists, dictionaries and numbers.
#pragma once

#include "runtime/chat/Object.h"

#include <span>

namespace heddle::chat {

// The bound method. Returns nothing if the type has no such method. The result is undefined if templates may not call
// the method, because it would change the value or escape the sandbox.
std::optional<Value> methodOf(const Value &value, std::string_view name);

using TextMethod = Result<Value> (*)(Environment &environment, const Text &self, Arguments &arguments);
struct NamedMethod {
  std::string_view name;
  TextMethod method;
};
// The methods of texts that cut, join, search or replace, and all others.
std::span<const NamedMethod> cuttingMethods();
std::span<const NamedMethod> otherMethods();

// Splits a text at white space, or at a separator. Makes at most `most` cuts, or all if `most` is negative; with
// `fromRight` it starts at the right end.
Result<Values> split(const Text &text, const Value &separator, int64_t most, bool fromRight, Environment &environment);
Result<Values> splitLines(const Text &text, bool keepsEnds, Environment &environment);

// Pads a text to `width` characters and places it at the left, in the middle or at the right.
enum class Side { Left, Right, Middle };
Result<std::string> padded(const Text &text, int64_t width, std::string_view fill, Side side, Environment &environment);

} // namespace heddle::chat
