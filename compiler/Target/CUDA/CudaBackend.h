// The CUDA backend: kernels become PTX, and machine code if ptxas is installed.
#pragma once

#include "compiler/Target/Backend.h"

namespace mlir::heddle {

const Backend &getCUDABackend();

/// The targets of the backend, in CudaProfiles.cpp.
ArrayRef<TargetProfile> getCudaProfiles();

} // namespace mlir::heddle
