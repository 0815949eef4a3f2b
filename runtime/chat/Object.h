// Values with state or behaviour: namespaces, functions, ranges, dictionary views, iterators.
#pragma once

#include "runtime/chat/Value.h"

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::chat {

class Namespace;

// The arguments of a call, a filter or a test.
struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

// The part of the rendering that functions can access.
struct Environment {
  Environment(const Limits &limits, const std::tm &now) : budget(limits), now(now) {}
  ~Environment();
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;

  Budget budget;
  std::tm now;
  // All namespaces created so far. A namespace may contain itself, so the environment clears them at the end.
  std::vector<std::shared_ptr<Namespace>> namespaces;
};

class Object : public Counted, public std::enable_shared_from_this<Object> {
public:
  explicit Object(size_t bytes) : Counted(bytes) {}
  virtual ~Object() = default;

  virtual std::string typeName() const = 0;
  // With a trailing dot: "jinja2.utils."; empty for built-in types of Python.
  virtual std::string module() const { return ""; }
  // Python's repr().
  virtual std::string repr(Budget &budget) const;
  virtual unsigned depth() const { return 0; }
  virtual bool isTrue() const { return true; }
  virtual bool isHashable() const { return true; }

  // Nothing if there is no such attribute.
  virtual Result<std::optional<Value>> attribute(Environment &environment, std::string_view name);
  // `obj[key]`. Returns nothing if there is no such element or the type has no elements.
  virtual std::optional<Value> element(const Value &key) const;
  virtual bool hasElements() const { return false; }
  // take() returns the remaining items that a loop visits, or nothing if the object cannot be iterated.
  virtual bool isIterable() const { return false; }
  virtual std::optional<Values> take() { return std::nullopt; }
  virtual std::optional<size_t> length() const { return std::nullopt; }

  virtual bool isCallable() const { return false; }
  virtual Result<Value> call(Environment &environment, Arguments arguments);
};

// The object as a T, or null if it has another type.
template <typename T> T *as(const Value &value) { return dynamic_cast<T *>(value.object()); }

template <typename T, typename... Parts> Value makeObject(Parts &&...parts) {
  return Value(std::shared_ptr<Object>(std::make_shared<T>(std::forward<Parts>(parts)...)));
}

class Namespace final : public Object {
public:
  Namespace() : Object(sizeof(Namespace)) {}

  std::string typeName() const override { return "Namespace"; }
  std::string module() const override { return "jinja2.utils."; }
  std::string repr(Budget &budget) const override;
  Result<std::optional<Value>> attribute(Environment &environment, std::string_view name) override;
  std::optional<Value> element(const Value &key) const override;
  bool hasElements() const override { return true; }

  const Value *find(std::string_view name) const;
  void set(std::string_view name, Value value);
  void clear() { std::exchange(attributes, {}); }

private:
  std::vector<std::pair<std::string, Value>> attributes;
  mutable bool isPrinted = false;
};

// A built-in function, or a method bound to its object.
class Function final : public Object {
public:
  using Body = std::function<Result<Value>(Environment &, Arguments &)>;
  // `depth` is the depth of the values that the body holds.
  Function(std::string name, Body body, unsigned depth = 0)
      : Object(sizeof(Function)), name(std::move(name)), body(std::move(body)), deepest(depth + 1) {}

  std::string typeName() const override { return "builtin_function_or_method"; }
  std::string repr(Budget &) const override { return "<built-in function " + name + ">"; }
  unsigned depth() const override { return deepest; }
  bool isCallable() const override { return true; }
  Result<Value> call(Environment &environment, Arguments arguments) override { return body(environment, arguments); }

private:
  std::string name;
  Body body;
  unsigned deepest;
};

// Python's range(). Numbers are created on request.
class Range final : public Object {
public:
  Range(int64_t start, int64_t stop, int64_t step);

  std::string typeName() const override { return "range"; }
  std::string repr(Budget &budget) const override;
  bool isTrue() const override { return count != 0; }
  std::optional<Value> element(const Value &key) const override;
  bool hasElements() const override { return true; }
  bool isIterable() const override { return true; }
  std::optional<Values> take() override;
  std::optional<size_t> length() const override { return count; }

  const int64_t start, stop, step;
  size_t count;
};

// items(), keys() or values() of a dictionary.
class View final : public Object {
public:
  enum class Kind { Items, Keys, Values };
  View(Kind kind, std::shared_ptr<const Dict> dict) : Object(sizeof(View)), kind(kind), dict(std::move(dict)) {}

  std::string typeName() const override;
  std::string repr(Budget &budget) const override;
  unsigned depth() const override { return dict->depth() + 2; }
  bool isTrue() const override { return !dict->entries().empty(); }
  bool isHashable() const override { return kind == Kind::Values; }
  bool isIterable() const override { return true; }
  std::optional<chat::Values> take() override { return items(); }
  std::optional<size_t> length() const override { return dict->entries().size(); }
  chat::Values items() const;

private:
  Kind kind;
  std::shared_ptr<const Dict> dict;
};

// The result of `map`, `select` and similar filters: items that can be visited once. It is true even if it has no
// items.
class Iterator final : public Object {
public:
  explicit Iterator(Values items, std::string type = "generator");

  std::string typeName() const override { return type; }
  unsigned depth() const override { return deepest; }
  bool isIterable() const override { return true; }
  std::optional<Values> take() override;
  // The next item; nothing at the end.
  std::optional<Value> next();

private:
  Values items;
  size_t position = 0;
  std::string type;
  unsigned deepest;
};

} // namespace heddle::chat
