// Counts a kernel's registers per thread, and checks whether a processor has enough.
#pragma once

#include "test/cuda/emulator/Ptx.h"

#include <cstdint>
#include <string>

namespace heddle::emulator {

constexpr uint32_t kRegisters = 65536; // of a processor, and the limit of a block

// The limit from .maxnreg, and from the room that .maxntid, .reqntid and .minnctapersm leave.
uint32_t registerLimit(const Function &function);
// Registers by ptxas's report, or 0 without ptxas (HEDDLE_EMULATOR_PTXAS, or one in PATH).
uint32_t registersByPtxas(const std::string &ptx, const std::string &targetName, const std::string &kernel);
// Returns true if the registers suffice. A warp gets registers in units of 256.
bool hasRegistersFor(uint64_t threads, uint32_t registers);

} // namespace heddle::emulator
