// Stacks of their own within one host thread, switched by hand.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace heddle::emulator {

// Where a stack was left. The host thread's own stack has one too, filled in when it is switched away from.
class Fiber {
public:
  Fiber() = default;
  // A stack of `stackBytes` with a guard page below it. Switching to it the first time calls entry(argument), which
  // must never return.
  Fiber(size_t stackBytes, void (*entry)(void *), void *argument);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  // Forgets what the stack holds: the next switch calls entry again.
  void reset();

  static void switchTo(Fiber &from, Fiber &to);

private:
  void *pointer = nullptr; // the stack pointer when left
  uint8_t *mapping = nullptr;
  size_t mappingBytes = 0;
  void (*entry)(void *) = nullptr;
  void *argument = nullptr;
#if !defined(__x86_64__) && !defined(__aarch64__)
  ucontext_t context;
#endif
};

} // namespace heddle::emulator
