// Methods of Python's texts, lists, dictionaries and numbers.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

// A function that holds the value. Nothing if its type has no such method; undefined if a template may not call it, as
// it would change the value or lead out of the sandbox.
std::optional<Value> methodOf(const Value &value, std::string_view name);

using TextMethod = Result<Value> (*)(Environment &environment, const Text &self, Arguments &arguments);
// Null if there is none. Methods that cut and join, and the others.
TextMethod findCuttingMethod(std::string_view name);
TextMethod findTextMethod(std::string_view name);

// The parts of a text between white space, or between separators; at most `most` cuts, from the right end if
// `fromRight`, and all of them if `most` is negative.
Result<Values> split(const Text &text, const Value &separator, int64_t most, bool fromRight, Environment &environment);
Result<Values> splitLines(const Text &text, bool keepsEnds, Environment &environment);

// Moves bytes to the middle, left or right of a field of `width` characters.
enum class Side { Left, Right, Middle };
Result<std::string> padded(const Text &text, int64_t width, std::string_view fill, Side side, Environment &environment);

} // namespace heddle::chat
