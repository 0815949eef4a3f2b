// The values of a pickle, Python's format of objects, as far as tables of tensors need them. Nothing is executed.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

class Pickle {
public:
  // A value is a number in this list of all values.
  using Id = uint32_t;
  struct Value {
    // `Global` is a function or class, in `text` as "module name". `Storage` is a reference to numbers outside of the
    // pickle, and `Tensor` a call that builds a tensor: their arguments are in `items`.
    enum class Kind : uint8_t { None, Flag, Whole, Number, Text, Tuple, List, Table, Global, Storage, Tensor } kind;
    int64_t whole = 0; // of Flag and Whole
    std::string text;
    std::vector<Id> items; // of a Table: keys and values in turn
  };

  // Fails if the bytes are no pickle, or have an operation, a function or a class that tables of tensors do not need.
  // The error calls the pickle `origin`.
  static Result<Pickle> parse(std::span<const std::byte> bytes, std::string_view origin);

  const Value &root() const { return values[top]; }
  const Value &at(Id id) const { return values[id]; }

private:
  std::vector<Value> values;
  Id top = 0;

  friend class PickleReader;
};

} // namespace heddle
