// Phase `emit`: planned modules become the bytes of an artifact (runtime/schema/artifact.fbs).
#ifndef HEDDLE_COMPILER_EMIT_EMIT_H
#define HEDDLE_COMPILER_EMIT_EMIT_H

#include "compiler/Target/TargetProfile.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::heddle {

/// A file that the artifact contains unchanged.
struct VocabularyFile {
  std::string name;
  std::string bytes;
};

/// One model as planned for one target.
struct PlannedTarget {
  const TargetProfile *profile;
  ModuleOp module;
};

struct Artifact {
  std::string bytes;
  size_t entries = 0;
  size_t kernels = 0;  // after identical ones were made one
  size_t launches = 0; // of the first target
  uint64_t codeBytes = 0;
};

/// Serialises the kernels and writes the artifact. The same modules give the same bytes. Targets that plan their
/// launches as the first does share its entries and kernels, others have their own; sizes of one name and variables
/// must be the same in all. With an assembler, a program's path, kernels of backends that have one are assembled too.
/// Fails after an error.
FailureOr<Artifact> emitArtifact(MutableArrayRef<PlannedTarget> targets, StringRef assembler = {},
                                 ArrayRef<VocabularyFile> vocabulary = {});

} // namespace mlir::heddle

#endif
