// Compiles a model to an artifact, or to the module after one of the phases.
#pragma once

#include "compiler/Program/Emit/Emit.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/heddle-compile/CompileFlags.h"

namespace mlir::heddle {

struct CompiledModel {
  /// The module after the last requested phase, one per target; a single module if that phase is shared by all targets.
  std::vector<OwningOpRef<ModuleOp>> modules;
  /// Filled only if the last phase is emit.
  Artifact artifact;
};

/// Callback that sees the module after each phase, and its target; the target is null in phases that all targets share.
using TargetPhaseWatch = std::function<void(Phase, const TargetProfile *, ModuleOp)>;

/// On failure an error has been reported to `context`.
FailureOr<CompiledModel> compileModel(MLIRContext *context, const CommandLine &line,
                                      const TargetPhaseWatch &watch = nullptr);

} // namespace mlir::heddle
