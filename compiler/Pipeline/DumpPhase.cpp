#include "compiler/Pipeline/DumpPhase.h"

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

  DumpPhasePass(const PhaseInfo &phase, const PipelineOptions &options) : directory(options.dumpDirectory) {
    std::string name = llvm::formatv("{0,0+2}-{1}", static_cast<int>(phase.phase), phase.name);
    if (!options.dumpTag.empty())
      name += "-" + options.dumpTag;
    llvm::sys::path::append(path, directory, name + ".mlir");
  }

  StringRef getName() const override { return "DumpPhase"; }

  void runOnOperation() override {
    std::error_code error = llvm::sys::fs::create_directories(directory);
    if (!error) {
      llvm::raw_fd_ostream stream(path, error);
      if (!error)
        getOperation()->print(stream);
      stream.close();
      if (stream.has_error()) {
        error = stream.error();
        stream.clear_error(); // or LLVM ends the program with a crash report
        llvm::sys::fs::remove(path);
      }
      markAllAnalysesPreserved();
    }
    if (error) {
      emitError(UnknownLoc::get(&getContext())) << "--dump-phases: cannot write '" << path << "': " << error.message();
      signalPassFailure();
    }
  }

private:
  std::string directory;
  SmallString<128> path;
};

} // namespace

std::unique_ptr<Pass> mlir::heddle::createDumpPhasePass(const PhaseInfo &phase, const PipelineOptions &options) {
  return std::make_unique<DumpPhasePass>(phase, options);
}
