#include "compiler/Target/CUDA/CudaBackend.h"

#include "compiler/Target/CUDA/Assemble.h"
#include "compiler/Target/CUDA/CudaLowering.h"
#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/CUDA/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class CudaBackend final : public Backend {
public:
  StringRef getName() const override { return "cuda"; }
  ArrayRef<TargetProfile> getProfiles() const override { return getCudaProfiles(); }
  ArrayRef<StringLiteral> getKernelDialects() const override {
    static constexpr StringLiteral dialects[] = {"gpu", "llvm", "nvvm"};
    return dialects;
  }
  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
    registerPtxTranslations(registry);
  }
  void registerPasses() const override {
    registerCudaPasses();
    registerCudaLowering();
  }
  void buildLowering(OpPassManager &passes, const TargetProfile &profile) const override {
    buildCudaLowering(passes, profile.chip);
  }
  LogicalResult serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const override;
  void nameEntry(KernelCode &code) const override;
  bool hasAssembler() const override { return true; }
  LogicalResult assemble(StringRef ptxas, const TargetProfile &profile, Location loc, KernelCode &code) const override;
};

} // namespace

/// Stores PTX as null-terminated text, padded with null bytes to whole words.
static void setText(KernelCode &code, StringRef ptx) {
  code.words.assign(ptx.size() / sizeof(uint32_t) + 1, 0);
  std::memcpy(code.words.data(), ptx.data(), ptx.size());
}

static StringRef getText(const KernelCode &code) { return reinterpret_cast<const char *>(code.words.data()); }

LogicalResult CudaBackend::serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const {
  auto module = cast<gpu::GPUModuleOp>(kernel);
  auto main = module.lookupSymbol<LLVM::LLVMFuncOp>(kEntryName);
  auto lanes = main->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getMaxntidAttrName());
  code.lanes = lanes[0];
  code.subgroup = static_cast<uint32_t>(profile.lanes);
  if (auto shared = module->getAttrOfType<IntegerAttr>(kSharedBytesName))
    code.sharedBytes = static_cast<uint32_t>(shared.getInt());
  code.persistent = main.walk([](NVVM::GridDimXOp) { return WalkResult::interrupt(); }).wasInterrupted();
  std::string ptx;
  if (failed(emitPtx(module, ptx)))
    return failure();
  setText(code, ptx);
  return success();
}

void CudaBackend::nameEntry(KernelCode &code) const {
  code.entry = getEntryName(code.name);
  setText(code, renameEntry(getText(code), code.entry));
}

LogicalResult CudaBackend::assemble(StringRef ptxas, const TargetProfile &profile, Location loc,
                                    KernelCode &code) const {
  std::string message;
  std::optional<Cubin> cubin = assemblePtx(ptxas, getText(code), profile.chip, message);
  if (!cubin)
    return emitError(loc) << "kernel '" << code.name << "': ptxas (" << ptxas << ") fails: " << message
                          << "; with --ptxas=none the driver compiles the PTX instead";
  code.binary = std::move(cubin->bytes);
  code.registers = cubin->registers;
  code.spillBytes = cubin->spillBytes;
  return success();
}

const Backend &mlir::heddle::getCUDABackend() {
  static const CudaBackend backend;
  return backend;
}
