// The CUDA backend: kernels become PTX, and machine code if ptxas is installed.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_CUDABACKEND_H
#define HEDDLE_COMPILER_TARGET_CUDA_CUDABACKEND_H

#include "compiler/Target/Backend.h"

namespace mlir::heddle {

const Backend &getCUDABackend();

/// The targets of the backend, in CudaProfiles.cpp.
ArrayRef<TargetProfile> getCudaProfiles();

} // namespace mlir::heddle

#endif
