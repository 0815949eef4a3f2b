// Compresses the code of a target's kernels for an artifact.
#pragma once

#include "compiler/Program/Emit/KernelTable.h"

namespace mlir::heddle {

struct PackedCode {
  std::vector<uint8_t> frame;
  uint64_t bytes = 0; // size before compression
};

/// Returns the field Target.code of the schema. Equal kernels give equal bytes. Fails after an error at `loc`.
FailureOr<PackedCode> packCode(ArrayRef<KernelCode> kernels, Location loc);

} // namespace mlir::heddle
