// Errors as values. The runtime never throws across an interface: a function that can fail returns a Status or a
// Result<T>, and the C++ compiler warns if a caller ignores it.
//
// A message is a short paragraph that a user can act upon. It says what failed, where (file, variable, kernel), the
// value, the limit, and what to do.
#pragma once

#include <cassert>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace heddle {

enum class ErrorKind {
  InvalidArgument, // the caller passed a wrong name, shape, type or value
  NotFound,        // a file, entry, variable or device does not exist
  Io,              // reading or writing a file failed
  Malformed,       // a file is damaged or of another kind
  Unsupported,     // this device or this build cannot do it
  OutOfMemory,     // of the device or of the host
  DeviceLost,      // the device stopped answering; the program has to open it again
};

const char *toString(ErrorKind kind);

struct Error {
  ErrorKind kind;
  std::string message;

  // Puts "while doing this: " in front of the message.
  Error within(std::string_view context) && {
    message = std::string(context) + ": " + message;
    return std::move(*this);
  }
};

// Joins its arguments as `<<` would print them.
template <typename... Parts> std::string str(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

template <typename... Parts> Error makeError(ErrorKind kind, const Parts &...parts) {
  return Error{kind, str(parts...)};
}

class Success {};

// A value or an error. value(), `*` and `->` require ok(); error() and message() require !ok().
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  template <typename U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U &&value) : state(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  T &value() & { return *get(); }
  const T &value() const & { return *const_cast<Result *>(this)->get(); }
  T &&value() && { return std::move(*get()); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(*this).value(); }
  T *operator->() { return get(); }
  const T *operator->() const { return &value(); }

  const Error &error() const & {
    assert(!ok() && "no error to read");
    return *std::get_if<1>(&state);
  }
  Error &&error() && {
    assert(!ok() && "no error to read");
    return std::move(*std::get_if<1>(&state));
  }
  const std::string &message() const { return error().message; }

private:
  T *get() {
    assert(ok() && "reading the value of a failed Result");
    return std::get_if<0>(&state);
  }

  std::variant<T, Error> state;
};

// A Result without a value: `return Success();` or `return makeError(...)`.
class [[nodiscard]] Status : public Result<Success> {
public:
  Status(Success) : Result(Success()) {}
  Status(Error error) : Result(std::move(error)) {}
};

} // namespace heddle

#define HEDDLE_CONCAT_IMPL(a, b) a##b
#define HEDDLE_CONCAT(a, b) HEDDLE_CONCAT_IMPL(a, b)

// HEDDLE_CHECK(status): returns the error of a Status or Result from the enclosing function.
#define HEDDLE_CHECK(...)                                                                                              \
  do {                                                                                                                 \
    if (auto heddleStatus = (__VA_ARGS__); !heddleStatus.ok())                                                         \
      return std::move(heddleStatus).error();                                                                          \
  } while (false)

// HEDDLE_ASSIGN(auto value, expression): assigns a Result's value, or returns its error from the enclosing function.
#define HEDDLE_ASSIGN(target, ...) HEDDLE_ASSIGN_IMPL(HEDDLE_CONCAT(heddleResult, __LINE__), target, __VA_ARGS__)
#define HEDDLE_ASSIGN_IMPL(name, target, ...)                                                                          \
  auto name = (__VA_ARGS__);                                                                                           \
  if (!name.ok())                                                                                                      \
    return std::move(name).error();                                                                                    \
  target = std::move(name).value()
