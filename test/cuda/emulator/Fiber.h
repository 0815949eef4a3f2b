// Separate stacks within one host thread, with explicit switches.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace heddle::emulator {

// A suspended stack. The host thread's own stack has a Fiber, too, which is filled in when it is left.
class Fiber {
public:
  Fiber() = default;
  // Allocates a stack of `stackBytes` with a guard page below. The first switch to it calls entry(argument), which must
  // never return.
  Fiber(size_t stackBytes, void (*entry)(void *), void *argument);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  // Discards the stack's contents: the next switch calls entry again.
  void reset();

  static void switchTo(Fiber &from, Fiber &to);

private:
  void *pointer = nullptr; // the saved stack pointer
  uint8_t *mapping = nullptr;
  size_t mappingBytes = 0;
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
#if !defined(__x86_64__) && !defined(__aarch64__)
  ucontext_t context;
#endif
};

} // namespace heddle::emulator
