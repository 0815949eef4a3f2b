#include "test/cuda/emulator/Fiber.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

// Pushes the registers that a call preserves, swaps the stack pointers, and pops the other side's registers. A new
// stack looks as if it had been left in this function, with the entry and its argument in two of the preserved
// registers.
#if defined(__x86_64__)
extern "C" void heddle_emulator_switch(void **from, void *to);
extern "C" void heddle_emulator_start();
asm(R"(
.text
.globl heddle_emulator_switch
.hidden heddle_emulator_switch
.type heddle_emulator_switch, @function
heddle_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size heddle_emulator_switch, .-heddle_emulator_switch
.globl heddle_emulator_start
.hidden heddle_emulator_start
.type heddle_emulator_start, @function
heddle_emulator_start:
  movq %r13, %rdi
  callq *%r12
  ud2
.size heddle_emulator_start, .-heddle_emulator_start
)");
#elif defined(__aarch64__)
extern "C" void heddle_emulator_switch(void **from, void *to);
extern "C" void heddle_emulator_start();
asm(R"(
.text
.globl heddle_emulator_switch
.hidden heddle_emulator_switch
.type heddle_emulator_switch, %function
heddle_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size heddle_emulator_switch, .-heddle_emulator_switch
.globl heddle_emulator_start
.hidden heddle_emulator_start
.type heddle_emulator_start, %function
heddle_emulator_start:
  mov x0, x20
  blr x19
  brk #0
.size heddle_emulator_start, .-heddle_emulator_start
)");
#endif

namespace heddle::emulator {

Fiber::Fiber(size_t stackBytes, void (*entry)(void *), void *argument) : entry(entry), argument(argument) {
  constexpr size_t page = 4096;
  mappingBytes = stackBytes + page;
  void *at = mmap(nullptr, mappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED || mprotect(at, page, PROT_NONE)) {
    std::perror("heddle emulator: cannot map a stack");
    std::abort();
  }
  mapping = static_cast<uint8_t *>(at);
  reset();
}

Fiber::~Fiber() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

#if defined(__x86_64__) || defined(__aarch64__)

void Fiber::reset() {
  auto *top = reinterpret_cast<uint64_t *>(mapping + mappingBytes);
#if defined(__x86_64__)
  // r15 r14 r13 r12 rbx rbp and the return address; the stack is then 16-byte aligned, as required before a call.
  uint64_t *frame = top - 9;
  for (unsigned i = 0; i < 9; ++i)
    frame[i] = 0;
  frame[2] = reinterpret_cast<uint64_t>(argument);
  frame[3] = reinterpret_cast<uint64_t>(entry);
  frame[6] = reinterpret_cast<uint64_t>(&heddle_emulator_start);
  pointer = frame;
#else
  uint64_t *frame = top - 20;
  for (unsigned i = 0; i < 20; ++i)
    frame[i] = 0;
  frame[0] = reinterpret_cast<uint64_t>(entry);
  frame[1] = reinterpret_cast<uint64_t>(argument);
  frame[11] = reinterpret_cast<uint64_t>(&heddle_emulator_start);
  pointer = frame;
#endif
}

void Fiber::switchTo(Fiber &from, Fiber &to) { heddle_emulator_switch(&from.pointer, to.pointer); }

#else

void Fiber::reset() {
  getcontext(&context);
  context.uc_stack.ss_sp = mapping + 4096;
  context.uc_stack.ss_size = mappingBytes - 4096;
  context.uc_link = nullptr;
  auto bits = reinterpret_cast<uint64_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(+[](unsigned high, unsigned low) {
    auto *fiber = reinterpret_cast<Fiber *>(uint64_t(high) << 32 | low);
    fiber->entry(fiber->argument);
  }),
              2, static_cast<unsigned>(bits >> 32), static_cast<unsigned>(bits));
}

void Fiber::switchTo(Fiber &from, Fiber &to) { swapcontext(&from.context, &to.context); }

#endif

} // namespace heddle::emulator
