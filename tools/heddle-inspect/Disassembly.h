// Shows the machine code of CPU kernels as assembly.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

// Returns the assembly of a kernel for the target "cpu:...": a line for each instruction, with its address from the
// image's beginning, in hexadecimal. Constants, which follow the code, are shown as instructions, too. `code` is an image
// with its header (runtime/hal/cpu/Image.h). Calls the program objdump of GNU binutils; fails with NotFound if there is
// none, or none that knows the target's architecture.
Result<std::string> disassemble(std::string_view target, std::span<const uint32_t> code);

} // namespace heddle
