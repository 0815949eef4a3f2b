// The floating-point state that kernels run with.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heddle::hal::cpu {

// While the object lives, its thread rounds to nearest, flushes denormal results to zero, treats denormal operands as
// zero, and does not trap on floating-point exceptions. The destructor restores the previous state, sticky flags
// included.
class FloatMode {
public:
  FloatMode() : before(read()) { write(kKernels); }
  ~FloatMode() { write(before); }
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

#if defined(__x86_64__)
  static constexpr uint64_t kKernels = 0x9fc0; // MXCSR: FTZ, DAZ, all exceptions masked
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t state) { _mm_setcsr(static_cast<uint32_t>(state)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kKernels = 1 << 24; // FPCR: FZ
  static uint64_t read() {
    uint64_t state = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(uint64_t state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
  static constexpr uint64_t kKernels = 0;
  static uint64_t read() { return 0; }
  static void write(uint64_t) {}
#endif

private:
  uint64_t before;
};

} // namespace heddle::hal::cpu
