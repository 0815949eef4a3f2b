// The kernels of a plan that one or several targets share. Identical kernels occur once.
#pragma once

#include "compiler/Program/Emit/Emit.h"
#include "compiler/Target/KernelCode.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace mlir::heddle {

class KernelTable {
public:
  /// Serialises the kernels that the first target's launches name, in order of their first launch. `assembler` is as in
  /// emitArtifact().
  LogicalResult build(MutableArrayRef<PlannedTarget> targets, StringRef assembler);

  /// The index of the kernel called `name`.
  uint32_t indexOf(StringRef name) const { return indices.lookup(name); }

  /// The kernels by target, then by index.
  std::vector<std::vector<KernelCode>> targets;

private:
  llvm::StringMap<uint32_t> indices;
};

} // namespace mlir::heddle
