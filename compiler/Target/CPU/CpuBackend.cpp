#include "compiler/Target/CPU/CpuBackend.h"

#include "compiler/Target/CPU/CpuLowering.h"
#include "compiler/Target/CPU/EmitImage.h"
#include "compiler/Target/CPU/LowerToLlvm.h"
#include "compiler/Target/CPU/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class CpuBackend final : public Backend {
public:
  StringRef getName() const override { return "cpu"; }
  ArrayRef<TargetProfile> getProfiles() const override { return getCpuProfiles(); }
  ArrayRef<StringLiteral> getKernelDialects() const override {
    static constexpr StringLiteral dialects[] = {"llvm"};
    return dialects;
  }
  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
    registerImageTranslations(registry);
  }
  void registerPasses() const override {
    registerCpuPasses();
    registerCpuLowering();
  }
  void buildLowering(OpPassManager &passes, const TargetProfile &) const override { buildCpuLowering(passes); }
  LogicalResult serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const override {
    auto function = cast<LLVM::LLVMFuncOp>(kernel);
    code.lanes = 1;
    if (auto scratch = function->getAttrOfType<IntegerAttr>(kScratchBytesName))
      code.sharedBytes = static_cast<uint32_t>(scratch.getInt());
    return emitImage(function, profile, code.words);
  }
};

} // namespace

const Backend &mlir::heddle::getCPUBackend() {
  static const CpuBackend backend;
  return backend;
}
