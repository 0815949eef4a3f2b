// NVIDIA's assembler, a program of the CUDA toolkit, where it is installed.
#ifndef HEDDLE_COMPILER_TARGET_CUDA_ASSEMBLE_H
#define HEDDLE_COMPILER_TARGET_CUDA_ASSEMBLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::heddle {

/// A kernel in the instructions of one architecture, and what ptxas says of it.
struct Cubin {
  std::string bytes;
  uint32_t registers = 0;  // of a lane
  uint32_t spillBytes = 0; // stored for want of registers, of a lane
};

/// The ptxas of CUDA_HOME, or else of PATH; empty where there is none.
std::string findPtxas();

/// Assembles PTX for `chip` ("sm_90a"); none and a message where that fails. Kernels may be assembled in parallel.
std::optional<Cubin> assemblePtx(StringRef ptxas, StringRef ptx, StringRef chip, std::string &message);

} // namespace mlir::heddle

#endif
