// The CPU backend: kernels become machine code, and a thread runs one workgroup after the other.
#pragma once

#include "compiler/Target/Backend.h"

namespace mlir::heddle {

const Backend &getCPUBackend();

/// The targets of the backend, in CpuProfiles.cpp.
ArrayRef<TargetProfile> getCpuProfiles();

} // namespace mlir::heddle
