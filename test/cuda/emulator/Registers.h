// How many registers a thread of a kernel has, and whether a processor has so many.
#pragma once

#include "test/cuda/emulator/Ptx.h"

#include <cstdint>
#include <string>

namespace heddle::emulator {

constexpr uint32_t kRegisters = 65536; // of a processor, and of a block at most

// At most, as .maxnreg says and as .maxntid, .reqntid and .minnctapersm leave room for.
uint32_t registerLimit(const Function &function);
// By the report of ptxas, or 0 where there is no ptxas (HEDDLE_EMULATOR_PTXAS, or one in PATH).
uint32_t registersByPtxas(const std::string &ptx, const std::string &targetName, const std::string &kernel);
// A warp's registers are handed out in units of 256.
bool hasRegistersFor(uint64_t threads, uint32_t registers);

} // namespace heddle::emulator
