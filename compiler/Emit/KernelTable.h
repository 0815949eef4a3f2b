// The kernels of one plan, which several targets may share, each code once.
#ifndef HEDDLE_COMPILER_EMIT_KERNELTABLE_H
#define HEDDLE_COMPILER_EMIT_KERNELTABLE_H

#include "compiler/Emit/Emit.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace mlir::heddle {

struct KernelCode {
  std::string name;
  uint32_t lanes = 0;
  uint32_t subgroup = 0; // lanes that exchange values without shared memory
  SmallVector<uint32_t, 0> words;
  SmallVector<uint32_t> texels; // follows from the words
  // Vulkan alone.
  bool halves = false;          // there are floats of 16 bits
  uint32_t cooperativeSide = 0; // of cooperative matrices; 0: there are none
  // CUDA alone.
  std::string chip;
  std::string binary;       // a cubin; may be empty
  uint32_t sharedBytes = 0; // dynamic shared memory of a launch
  uint32_t registers = 0, spillBytes = 0;
};

class KernelTable {
public:
  /// Serialises the kernels that the first target's launches name, in the order in which they name them. `ptxas` as in
  /// emitArtifact.
  LogicalResult build(MutableArrayRef<PlannedTarget> targets, StringRef ptxas);

  /// The place of the kernel that a launch names.
  uint32_t indexOf(StringRef name) const { return indices.lookup(name); }

  /// By target, then by place.
  std::vector<std::vector<KernelCode>> targets;

private:
  llvm::StringMap<uint32_t> indices;
};

} // namespace mlir::heddle

#endif
