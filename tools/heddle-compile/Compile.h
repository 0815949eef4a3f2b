// From a model to an artifact, or to the module after one of the phases.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_COMPILE_H

#include "compiler/Emit/Emit.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/heddle-compile/CommandLine.h"

namespace mlir::heddle {

struct CompiledModel {
  /// The module after the last phase asked for, by target; one where that phase comes before there are targets.
  std::vector<OwningOpRef<ModuleOp>> modules;
  /// Where the last phase is emit.
  Artifact artifact;
};

/// Is shown what each phase leaves, and for which target; null in those phases that all targets share.
using TargetPhaseWatch = std::function<void(Phase, const TargetProfile *, ModuleOp)>;

/// Failure comes after an error that says why.
FailureOr<CompiledModel> compileModel(MLIRContext *context, const CommandLine &line,
                                      const TargetPhaseWatch &watch = nullptr);

} // namespace mlir::heddle

#endif
