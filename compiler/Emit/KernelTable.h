// The kernels of one plan, which several targets may share, each code once.
#ifndef HEDDLE_COMPILER_EMIT_KERNELTABLE_H
#define HEDDLE_COMPILER_EMIT_KERNELTABLE_H

#include "compiler/Emit/Emit.h"
#include "compiler/Target/KernelCode.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace mlir::heddle {

class KernelTable {
public:
  /// Serialises the kernels that the first target's launches name, in the order in which they name them. `assembler`
  /// as in emitArtifact.
  LogicalResult build(MutableArrayRef<PlannedTarget> targets, StringRef assembler);

  /// The place of the kernel that a launch names.
  uint32_t indexOf(StringRef name) const { return indices.lookup(name); }

  /// By target, then by place.
  std::vector<std::vector<KernelCode>> targets;

private:
  llvm::StringMap<uint32_t> indices;
};

} // namespace mlir::heddle

#endif
