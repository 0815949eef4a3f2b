// The values of a chat template. They behave as Python's do, because templates are written for jinja2.
//
// A value is cheap to copy: texts, lists and dictionaries are shared and never change. Only objects (Object.h) may
// change, such as a namespace.
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

// A string of Unicode. Its bytes are valid UTF-8.
struct Text : Counted {
  Text(std::string bytes, bool isMarkup);

  bool isAscii() const { return length == bytes.size(); }

  const std::string bytes;
  const size_t length; // code points
  const bool isMarkup; // the filter `safe` made it: what is joined to it gets escaped
};

struct List : Counted {
  List(std::vector<Value> items, bool isTuple);

  const std::vector<Value> items;
  const bool isTuple;
  const unsigned depth;
};

// Why a name, an attribute or an element is undefined.
struct Missing : Counted {
  enum class Form { Name, Attribute, Element, Hint, Unsafe };
  Missing(Form form, std::string name, std::string owner = "")
      : Counted(sizeof(Missing)), form(form), name(std::move(name)), owner(std::move(owner)) {}

  // The error of an access to it.
  Error error() const;

  const Form form;
  const std::string name;  // or the whole message, with Form::Hint
  const std::string owner; // the type of the value that has no such attribute or element
};

// Containers nest up to this deep. Printers and destructors recurse.
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
  Value(const void *) = delete; // else a pointer would become a bool

  bool isNone() const { return std::holds_alternative<std::monostate>(state); }
  // Each is null if the value is of another type. A bool is no whole number here; see integer().
  const bool *boolean() const { return std::get_if<bool>(&state); }
  const int64_t *whole() const { return std::get_if<int64_t>(&state); }
  const double *real() const { return std::get_if<double>(&state); }
  const Missing *missing() const { return get<const Missing>(); }
  const Text *text() const { return get<const Text>(); }
  const List *list() const { return get<const List>(); } // or a tuple
  const Dict *dict() const { return get<const Dict>(); }
  Object *object() const { return get<Object>(); }
  std::shared_ptr<const Dict> sharedDict() const;

  // A whole number, or a bool as 0 or 1, as Python takes it.
  std::optional<int64_t> integer() const;
  // Whole numbers and bools too.
  std::optional<double> number() const;

  // Whether both are the same object, as Python's `is` says.
  bool isSame(const Value &other) const;
  // 0 for a value without parts.
  unsigned depth() const;
  // As Python names it: "str", "NoneType".
  std::string typeName() const;
  // As jinja2's messages name it: "str object", "None".
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

// A dictionary, in the order in which its keys came. Keys are texts, numbers, None, and tuples of these.
class Dict : Counted {
public:
  using Entry = std::pair<Value, Value>;

  // Of two entries with one key the later value counts, at the place of the first.
  explicit Dict(std::vector<Entry> entries);

  const std::vector<Entry> &entries() const { return pairs; }
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  unsigned depth() const { return deepest; }

private:
  template <typename Equal> const Entry *look(size_t hash, Equal equal) const;

  std::vector<Entry> pairs;
  std::unordered_multimap<size_t, size_t> places; // by the keys' hashes; empty if there are few
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

// A key of a dictionary. Equal keys have equal hashes; lists, dictionaries and some objects have none.
std::optional<size_t> hashOf(const Value &value);

// Errors by the names that Python has for them, which stand in front of the message.
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
