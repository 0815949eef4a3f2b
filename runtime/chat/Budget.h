// Resource limits of a template. Templates are untrusted: without limits, a few loops would run for days, and a string
// that doubles itself would use up all memory.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace heddle::chat {

struct Limits {
  uint64_t work = 100'000'000;  // a unit per evaluated expression, visited element, and 64 bytes of text
  uint64_t bytes = 128u << 20u; // of all values alive at the same time
  uint64_t output = 64u << 20u; // of the rendered text
};

// Counts the bytes of values on this thread: of all values ever created, and of those still alive. Values count
// themselves.
struct Account {
  int64_t live = 0;
  uint64_t created = 0;
};
inline thread_local Account account;

// Base class of every value that owns memory.
class Counted {
public:
  explicit Counted(size_t bytes) : bytes(bytes) {
    account.live += int64_t(bytes);
    account.created += bytes;
  }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
  ~Counted() { account.live -= int64_t(bytes); }

private:
  size_t bytes;
};

class Budget {
public:
  explicit Budget(const Limits &limits) : limits(limits), liveBefore(account.live), createdBefore(account.created) {}

  // Returns false once the work is used up. Functions that cannot fail then stop early, and the next step() reports it.
  bool spend(uint64_t units) {
    work += units;
    return work <= limits.work;
  }

  // room() for functions that cannot fail: they truncate their result, and the next step() reports it.
  bool hasRoom(uint64_t bytes) {
    isCutShort |= !room(bytes).ok();
    return !isCutShort;
  }

  // Returns true if a result may have been truncated.
  bool isExhausted() const { return isCutShort || work > limits.work; }

  // Counts one unit of work. Fails if the work or the memory is used up.
  Status step() {
    ++work;
    if (work + ((account.created - createdBefore) >> 6u) > limits.work)
      return makeError(ErrorKind::Unsupported, "LimitError: the template takes more than ", limits.work,
                       " steps; it may be damaged, or loop without an end");
    return room(isCutShort ? UINT64_MAX : 0);
  }

  // Fails if there is no room for a value of `bytes` bytes. Call it before creating a value larger than its parts.
  Status room(uint64_t bytes) const {
    uint64_t live = account.live > liveBefore ? uint64_t(account.live - liveBefore) : 0;
    if (bytes > limits.bytes || live > limits.bytes - bytes)
      return makeError(ErrorKind::Unsupported, "LimitError: the template's values take more than ", limits.bytes >> 20u,
                       " MiB; it may be damaged, or build a text without an end");
    return Success();
  }

  // Fails if the rendered text may not have this many bytes.
  Status roomInOutput(uint64_t bytes) const {
    if (bytes > limits.output)
      return makeError(ErrorKind::Unsupported, "LimitError: the template writes more than ", limits.output >> 20u,
                       " MiB; it may be damaged, or loop without an end");
    return Success();
  }

private:
  Limits limits;
  int64_t liveBefore;
  uint64_t createdBefore;
  uint64_t work = 0;
  bool isCutShort = false;
};

} // namespace heddle::chat
