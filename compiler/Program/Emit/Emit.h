// Phase `emit`: serialises planned modules as an artifact (runtime/schema/artifact.fbs).
#pragma once

#include "compiler/Analysis/Profile/TargetProfile.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::heddle {

/// A file that the artifact contains unchanged.
struct VocabularyFile {
  std::string name;
  std::string bytes;
};

/// A model, planned for one target.
struct PlannedTarget {
  const TargetProfile *profile;
  ModuleOp module;
};

struct Artifact {
  std::string bytes;
  size_t entries = 0;
  size_t kernels = 0;  // identical kernels count once
  size_t launches = 0; // of the first target, without those in repetitions
  uint64_t codeBytes = 0;
};

/// Serialises the kernels and writes the artifact. Equal modules give equal bytes. Targets with the same launches as
/// the first target share its entries and kernels; other targets have their own. All targets must have the same
/// variables, and sizes of the same name must be equal. `assembler` is the path of a program, or empty: with it, the
/// kernels of backends with an assembler are assembled too. Fails after an error.
FailureOr<Artifact> emitArtifact(MutableArrayRef<PlannedTarget> targets, StringRef assembler = {},
                                 ArrayRef<VocabularyFile> vocabulary = {});

} // namespace mlir::heddle
