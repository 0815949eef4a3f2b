// The code of a target's kernels, as an artifact holds it.
#ifndef HEDDLE_COMPILER_EMIT_PACKCODE_H
#define HEDDLE_COMPILER_EMIT_PACKCODE_H

#include "compiler/Emit/KernelTable.h"

namespace mlir::heddle {

struct PackedCode {
  std::vector<uint8_t> frame;
  uint64_t bytes = 0; // unpacked
};

/// Target.code of the schema. The same kernels give the same bytes. Fails after an error at `loc`.
FailureOr<PackedCode> packCode(ArrayRef<KernelCode> kernels, Location loc);

} // namespace mlir::heddle

#endif
