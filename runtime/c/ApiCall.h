// Shared by the functions of the C API: the session, errors, and structures that may grow.
#pragma once

#include "runtime/c/heddle.h"
#include "runtime/session/Session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

// The dimensions of an entry's ports as the caller sees them. The session owns the names.
struct Dimensions {
  std::vector<std::vector<heddle_dimension>> inputs, outputs; // by port
};

struct heddle_session {
  std::shared_ptr<heddle::Session> session;
  std::vector<Dimensions> dimensions; // by entry
  std::string target, description;    // NUL-terminated copies
  pid_t process = ::getpid();
};

namespace heddle {

// Sets the thread's error message.
heddle_status fail(ErrorKind kind, std::string text);

// Runs the body of an API function and turns exceptions, mostly std::bad_alloc, into errors.
template <typename Body> heddle_status guarded(Body body) {
  try {
    Status status = body();
    return status.ok() ? HEDDLE_OK : fail(status.error().kind, status.error().message);
  } catch (const std::bad_alloc &) {
    return fail(ErrorKind::OutOfMemory, "the host has no memory left for this call.");
  } catch (const std::exception &error) {
    return fail(ErrorKind::InvalidArgument, error.what());
  } catch (...) { // a caller's function that the body calls may throw anything
    return fail(ErrorKind::InvalidArgument, "a function of the caller threw an exception.");
  }
}

inline Error missing(std::string_view what) { return makeError(ErrorKind::InvalidArgument, what, " is NULL."); }

// Fails if `size`, the `struct_size` of a caller's structure, cannot be right.
inline Status checkSize(size_t size) {
  if (size >= sizeof(size_t))
    return Success();
  return makeError(ErrorKind::InvalidArgument, "struct_size is ", size,
                   ": set it to sizeof of the structure before the call.");
}

// Copies the fields that the caller's version of the structure has; the others stay as they are.
template <typename T> Status readFields(const T *given, T &result) {
  HEDDLE_CHECK(checkSize(given->struct_size));
  std::memcpy(static_cast<void *>(&result), given, std::min(given->struct_size, sizeof(T)));
  return Success();
}

// Fills in the fields that the caller's version of the structure has. Fields that only a newer caller has become zero.
template <typename T> Status fill(T *target, T value) {
  if (!target)
    return missing("the structure for the result");
  size_t size = target->struct_size;
  HEDDLE_CHECK(checkSize(size));
  value.struct_size = size;
  std::memcpy(static_cast<void *>(target), &value, std::min(size, sizeof(T)));
  if (size > sizeof(T))
    std::memset(reinterpret_cast<char *>(target) + sizeof(T), 0, size - sizeof(T));
  return Success();
}

} // namespace heddle
