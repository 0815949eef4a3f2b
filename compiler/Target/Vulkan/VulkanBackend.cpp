#include "compiler/Target/Vulkan/VulkanBackend.h"

#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "compiler/Target/Vulkan/Passes.h"
#include "compiler/Target/Vulkan/VulkanLowering.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

class VulkanBackend final : public Backend {
public:
  StringRef getName() const override { return "vulkan"; }
  ArrayRef<TargetProfile> getProfiles() const override { return getVulkanProfiles(); }
  ArrayRef<StringLiteral> getKernelDialects() const override {
    static constexpr StringLiteral dialects[] = {"spirv"};
    return dialects;
  }
  void registerDialects(DialectRegistry &registry) const override { registry.insert<spirv::SPIRVDialect>(); }
  void registerPasses() const override {
    registerVulkanPasses();
    registerVulkanLowering();
  }
  void buildLowering(OpPassManager &passes, const TargetProfile &profile) const override {
    buildVulkanLowering(passes, profile.texelLoads);
  }
  LogicalResult serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const override;
};

} // namespace

LogicalResult VulkanBackend::serialize(Operation *kernel, const TargetProfile &profile, KernelCode &code) const {
  auto module = cast<spirv::ModuleOp>(kernel);
  for (auto mode : module.getOps<spirv::ExecutionModeOp>())
    if (mode.getExecutionMode() == spirv::ExecutionMode::LocalSize) {
      code.lanes = 1;
      for (auto extent : mode.getValues().getAsRange<IntegerAttr>())
        code.lanes *= extent.getInt();
    }
  if (code.lanes == 0)
    return module.emitError() << "kernel '" << code.name << "' has no LocalSize";
  if (auto exchange = module->getAttrOfType<IntegerAttr>(kExchangeName))
    code.subgroup = static_cast<uint32_t>(exchange.getInt());
  auto has = [&](spirv::Capability capability) {
    return llvm::is_contained(module.getVceTripleAttr().getCapabilities(), capability);
  };
  code.float16 = has(spirv::Capability::Float16);
  code.int16 = has(spirv::Capability::Int16);
  module.walk([&](spirv::KHRCooperativeMatrixMulAddOp op) {
    code.cooperativeSide = cast<spirv::CooperativeMatrixType>(op.getResult().getType()).getRows();
    code.subgroup = static_cast<uint32_t>(profile.lanes);
  });
  code.sharedBytes = static_cast<uint32_t>(getSharedBytes(module));
  code.texels = getTexelArguments(module);
  if (auto floats = module->getAttrOfType<IntegerAttr>(kTexelFloatsName))
    code.texelFloats = static_cast<uint32_t>(floats.getInt());
  return serializeKernel(module, code.words);
}

const Backend &heddle::getVulkanBackend() {
  static const VulkanBackend backend;
  return backend;
}
