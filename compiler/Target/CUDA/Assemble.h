// Runs ptxas, the assembler of the CUDA toolkit, if it is installed.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir::heddle {

/// A kernel's machine code for one architecture, and the resources that ptxas reports.
struct Cubin {
  std::string bytes;
  uint32_t registers = 0;  // per lane
  uint32_t spillBytes = 0; // per lane
};

/// The path of ptxas, from CUDA_HOME or else from PATH; empty if there is none.
std::string findPtxas();

/// Assembles PTX for `chip` ("sm_90a"). If that fails, returns nothing and sets `message`. Kernels may be assembled in
/// parallel.
std::optional<Cubin> assemblePtx(StringRef ptxas, StringRef ptx, StringRef chip, std::string &message);

} // namespace mlir::heddle
