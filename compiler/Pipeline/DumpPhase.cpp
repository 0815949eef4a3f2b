#include "compiler/Pipeline/DumpPhase.h"
#include "compiler/Pipeline/WriteWhole.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DumpPhasePass : public PassWrapper<DumpPhasePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DumpPhasePass)

  DumpPhasePass(const PhaseInfo &phase, const PipelineOptions &options)
      : directory(options.dumpDirectory), path(getDumpPath(phase, options)) {}

  StringRef getName() const override { return "DumpPhase"; }

  void runOnOperation() override {
    llvm::Error error = llvm::errorCodeToError(llvm::sys::fs::create_directories(directory));
    if (!error)
      error = writeWhole(path, [&](raw_ostream &stream) { getOperation()->print(stream); });
    markAllAnalysesPreserved();
    if (error) {
      emitError(UnknownLoc::get(&getContext()))
          << "--dump-phases: cannot write '" << path << "': " << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }

private:
  std::string directory;
  std::string path;
};

} // namespace

std::string mlir::heddle::getDumpPath(const PhaseInfo &phase, const PipelineOptions &options) {
  std::string name = llvm::formatv("{0,0+2}-{1}", static_cast<int>(phase.phase), phase.name);
  if (!options.dumpTag.empty())
    name += "-" + options.dumpTag;
  SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, name + ".mlir");
  return path.str().str();
}

std::unique_ptr<Pass> mlir::heddle::createDumpPhasePass(const PhaseInfo &phase, const PipelineOptions &options) {
  return std::make_unique<DumpPhasePass>(phase, options);
}
