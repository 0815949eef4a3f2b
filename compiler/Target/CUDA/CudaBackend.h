// CUDA's targets: kernels become PTX, and with ptxas machine code.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_CUDABACKEND_H
#define HEDDLE_COMPILER_TARGET_CUDA_CUDABACKEND_H

#include "compiler/Target/Backend.h"

namespace mlir::heddle {

const Backend &getCUDABackend();

/// The targets of the backend: CudaProfiles.cpp.
ArrayRef<TargetProfile> getCudaProfiles();

} // namespace mlir::heddle

#endif
