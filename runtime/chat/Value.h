// The values of a chat template. They behave like Python's, because templates are written for jinja2.
//
// A value is cheap to copy: texts, lists and dictionaries are shared and immutable. Only objects (Object.h), such as
// namespaces, can change.
#pragma once

#include "runtime/chat/Budget.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace heddle::chat {

class Dict;
class Object;
class Value;

// A Unicode string. Its bytes are valid UTF-8.
struct Text : Counted {
  Text(std::string bytes, bool isMarkup);

  bool isAscii() const { return length == bytes.size(); }

  const std::string bytes;
  const size_t length; // code points
  const bool isMarkup; // made by the filter `safe`: texts joined to it are escaped
};

struct List : Counted {
  List(std::vector<Value> items, bool isTuple);

  const std::vector<Value> items;
  const bool isTuple;
  const unsigned depth;
};

// The reason why a name, an attribute or an element is undefined.
struct Missing : Counted {
  enum class Form { Name, Attribute, Element, Hint, Unsafe };
  Missing(Form form, std::string name, std::string owner = "")
      : Counted(sizeof(Missing)), form(form), name(std::move(name)), owner(std::move(owner)) {}

  // The error raised when it is used.
  Error error() const;

  const Form form;
  const std::string name;  // with Form::Hint, the whole message
  const std::string owner; // the type of the value that lacks the attribute or element
};

// The maximum nesting depth of containers. Printers and destructors recurse.
inline constexpr unsigned kDeepestValue = 200;

class Value {
public:
  Value() = default; // None
  explicit Value(bool value) : state(value) {}
  explicit Value(int64_t value) : state(value) {}
  explicit Value(double value) : state(value) {}
  explicit Value(std::shared_ptr<const Missing> value) : state(std::move(value)) {}
  explicit Value(std::shared_ptr<const Text> value) : state(std::move(value)) {}
  explicit Value(std::shared_ptr<const List> value) : state(std::move(value)) {}
  explicit Value(std::shared_ptr<const Dict> value) : state(std::move(value)) {}
  explicit Value(std::shared_ptr<Object> value) : state(std::move(value)) {}
  Value(const void *) = delete; // a pointer would otherwise convert to bool

  bool isNone() const { return std::holds_alternative<std::monostate>(state); }
  // Each returns null if the value has another type. A bool is not a whole number here; see integer().
  const bool *boolean() const { return std::get_if<bool>(&state); }
  const int64_t *whole() const { return std::get_if<int64_t>(&state); }
  const double *real() const { return std::get_if<double>(&state); }
  const Missing *missing() const { return get<const Missing>(); }
  const Text *text() const { return get<const Text>(); }
  const List *list() const { return get<const List>(); } // or a tuple
  const Dict *dict() const { return get<const Dict>(); }
  Object *object() const { return get<Object>(); }
  std::shared_ptr<const Dict> sharedDict() const;

  // A whole number, or a bool as 0 or 1, as in Python.
  std::optional<int64_t> integer() const;
  // Also accepts whole numbers and bools.
  std::optional<double> number() const;

  // Returns true if both are the same object, like Python's `is`.
  bool isSame(const Value &other) const;
  // 0 for a value without parts.
  unsigned depth() const;
  // Python's name for the type: "str", "NoneType".
  std::string typeName() const;
  // The name in jinja2's messages: "str object", "None".
  std::string describedType() const;

private:
  template <typename T> T *get() const {
    auto *pointer = std::get_if<std::shared_ptr<T>>(&state);
    return pointer ? pointer->get() : nullptr;
  }

  std::variant<std::monostate, bool, int64_t, double, std::shared_ptr<const Text>, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>, std::shared_ptr<const Missing>, std::shared_ptr<Object>>
      state;
};

using Values = std::vector<Value>;

// A dictionary in insertion order. Keys are texts, numbers, None, and tuples of these.
class Dict : Counted {
public:
  using Entry = std::pair<Value, Value>;

  // If several entries have the same key, the last value counts, at the position of the first.
  explicit Dict(std::vector<Entry> entries);

  const std::vector<Entry> &entries() const { return pairs; }
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  unsigned depth() const { return deepest; }

private:
  template <typename Equal> const Entry *look(size_t hash, Equal equal) const;

  std::vector<Entry> pairs;
  std::unordered_multimap<size_t, size_t> places; // indices by the keys' hashes; empty if there are few entries
  unsigned deepest = 1;
};

Value makeText(std::string bytes, bool isMarkup = false);
Value makeList(Values items);
Value makeTuple(Values items);
Value makeDict(std::vector<Dict::Entry> entries);
Value undefinedName(std::string_view name);
Value undefinedAttribute(const Value &owner, std::string_view name);
Value undefinedElement(const Value &owner, const Value &key);
Value undefinedBecause(std::string hint);
Value unsafeAttribute(const Value &owner, std::string_view name);

// The hash of a dictionary key. Equal keys have equal hashes. Returns nothing for lists, dictionaries and some objects.
std::optional<size_t> hashOf(const Value &value);

// Errors whose messages begin with Python's names for them.
template <typename... Parts> Error typeError(const Parts &...parts) {
  return makeError(ErrorKind::InvalidArgument, "TypeError: ", parts...);
}
template <typename... Parts> Error valueError(const Parts &...parts) {
  return makeError(ErrorKind::InvalidArgument, "ValueError: ", parts...);
}
template <typename... Parts> Error runtimeError(const Parts &...parts) {
  return makeError(ErrorKind::InvalidArgument, "TemplateRuntimeError: ", parts...);
}

} // namespace heddle::chat
