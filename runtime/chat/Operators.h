// Python's operators on values.
#pragma once

#include "runtime/chat/Object.h"

namespace heddle::chat {

enum class Operator : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
};

bool isTrue(const Value &value);

// Returns false if the budget's work runs out.
bool equal(const Value &left, const Value &right, Budget &budget);
// The same for keys, which are small.
bool equalKeys(const Value &left, const Value &right);
// Negative, 0 or positive. Fails if the types have no common order. `sign` is the operator for the message, such as
// "<".
Result<int> compare(const Value &left, const Value &right, const char *sign, Budget &budget);
Result<bool> contains(const Value &container, const Value &item, Environment &environment);

// Applies any operator of the list above.
Result<Value> apply(Operator op, const Value &left, const Value &right, Environment &environment);
Result<Value> negated(const Value &value);
Result<Value> plus(const Value &value);

} // namespace heddle::chat
