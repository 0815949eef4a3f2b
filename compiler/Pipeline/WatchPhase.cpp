#include "compiler/Pipeline/WatchPhase.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class WatchPhasePass : public PassWrapper<WatchPhasePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WatchPhasePass)

  WatchPhasePass(Phase phase, PhaseWatch watch) : phase(phase), watch(std::move(watch)) {}

  StringRef getName() const override { return "WatchPhase"; }

  void runOnOperation() override {
    watch(phase, getOperation());
    markAllAnalysesPreserved();
  }

private:
  Phase phase;
  PhaseWatch watch;
};

} // namespace

std::unique_ptr<Pass> mlir::heddle::createWatchPhasePass(Phase phase, PhaseWatch watch) {
  return std::make_unique<WatchPhasePass>(phase, std::move(watch));
}
