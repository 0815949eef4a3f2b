#include "tools/heddle-compile/PhaseSpans.h"

#include "compiler/Target/KernelAction.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "runtime/core/Span.h"

#include <memory>
#include <vector>

using namespace mlir;
using namespace mlir::heddle;
using ::heddle::Span;

namespace {

/// Adaptors only run the passes of nested ops, which have spans of their own.
bool isAdaptor(Pass *pass) { return pass->getArgument().empty(); }

StringRef lastPassOf(Phase phase) { return phase == Phase::Derive ? "heddle-verify-entries" : "heddle-verify-phase"; }

class PhaseSpans final : public PassInstrumentation {
public:
  PhaseSpans(Phase first, const TargetProfile *profile) : next(static_cast<size_t>(first)), profile(profile) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (!op->getParentOp() && !phase) {
      phase = std::make_unique<Span>(getPhases()[next++].name);
      if (profile)
        phase->with("target", profile->name);
    }
    if (isAdaptor(pass))
      return;
    auto span = std::make_unique<Span>(pass->getArgument());
    if (op->getParentOp())
      if (StringAttr name = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        span->with("on", name.getValue());
    open().push_back(std::move(span));
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (!isAdaptor(pass))
      open().pop_back();
    if (!op->getParentOp() && pass->getArgument() == lastPassOf(static_cast<Phase>(next - 1)))
      phase.reset();
  }

  void runAfterPassFailed(Pass *pass, Operation *) override {
    if (!isAdaptor(pass))
      open().pop_back();
  }

private:
  /// The spans of the passes that are running on this thread.
  static std::vector<std::unique_ptr<Span>> &open() {
    thread_local std::vector<std::unique_ptr<Span>> spans;
    return spans;
  }

  size_t next; // index of the next phase
  const TargetProfile *profile;
  std::unique_ptr<Span> phase; // opened on the thread that runs the module's passes
};

} // namespace

std::unique_ptr<PassInstrumentation> mlir::heddle::createPhaseSpans(Phase first, const TargetProfile *profile) {
  return std::make_unique<PhaseSpans>(first, profile);
}

void mlir::heddle::watchKernels(MLIRContext *context) {
  context->registerActionHandler([](function_ref<void()> work, const tracing::Action &action) {
    auto *kernel = dyn_cast<KernelAction>(&action);
    if (!kernel)
      return work();
    Span span(kernel->step);
    span.with("on", kernel->kernel);
    work();
  });
}
