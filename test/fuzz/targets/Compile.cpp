#include "test/fuzz/targets/Compile.h"

#include "compiler/Pipeline/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::heddle;

namespace heddle::fuzz {

// The largest module that is compiled, in ops: larger modules take the same paths, but more time.
static constexpr int kMostOps = 500;

MLIRContext &quietContext() {
  static MLIRContext *context = [] {
    registerAllTargets();
    DialectRegistry registry;
    registerAllDialects(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    made->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    return made;
  }();
  return *context;
}

void compile(OwningOpRef<ModuleOp> module) {
  if (!module)
    return;
  require(succeeded(verify(*module)), "what is imported is a valid module");
  int ops = 0;
  module->walk([&](Operation *) { return ++ops > kMostOps ? WalkResult::interrupt() : WalkResult::advance(); });
  if (ops > kMostOps)
    return;
  PassManager passes(module->getContext());
  passes.addPass(createVerifyEntriesPass());
  PipelineOptions options;
  std::string message;
  options.profile = lookupTargetProfile(kDefaultTarget, message);
  buildPhasePipeline(passes, Phase::Derive, Phase::Plan, options);
  (void)passes.run(*module);
}

} // namespace heddle::fuzz
