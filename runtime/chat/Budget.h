// What a template may use up. A template comes from outside: without limits a few loops would run for days, and a
// string that doubles itself would take all memory.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>

namespace heddle::chat {

struct Limits {
  uint64_t work = 100'000'000;  // evaluated expressions, visited elements, and 64 bytes of text each count as one
  uint64_t bytes = 128u << 20u; // of the values that are alive at a time
  uint64_t output = 64u << 20u; // bytes of the rendered text
};

// Counts the bytes of values on this thread: all that were created, and all that are still alive. Values count
// themselves.
struct Account {
  int64_t live = 0;
  uint64_t created = 0;
};
inline thread_local Account account;

// Part of each value that has memory of its own.
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

  // False once the work is used up. Functions that cannot fail stop early then; the next step() reports it.
  bool spend(uint64_t units) {
    work += units;
    return work <= limits.work;
  }

  // room() for functions that cannot fail: what they return is cut short, and the next step() reports it.
  bool hasRoom(uint64_t bytes) {
    isCutShort |= !room(bytes).ok();
    return !isCutShort;
  }

  // Whether a result may have been cut short.
  bool isExhausted() const { return isCutShort || work > limits.work; }

  // Counts a unit. Fails if the work or the memory is used up.
  Status step() {
    ++work;
    if (work + ((account.created - createdBefore) >> 6u) > limits.work)
      return makeError(ErrorKind::Unsupported, "LimitError: the template takes more than ", limits.work,
                       " steps; it may be damaged, or loop without an end");
    return room(isCutShort ? UINT64_MAX : 0);
  }

  // Whether a value of `bytes` may be created; to be asked before one is that is larger than its parts.
  Status room(uint64_t bytes) const {
    uint64_t live = account.live > liveBefore ? uint64_t(account.live - liveBefore) : 0;
    if (bytes > limits.bytes || live > limits.bytes - bytes)
      return makeError(ErrorKind::Unsupported, "LimitError: the template's values take more than ", limits.bytes >> 20u,
                       " MiB; it may be damaged, or build a text without an end");
    return Success();
  }

  // Whether the rendered text may have this many bytes.
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
