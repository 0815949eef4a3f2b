#include "compiler/Emit/KernelTable.h"

#include "compiler/Target/CUDA/Assemble.h"
#include "compiler/Target/CUDA/LowerToNvvm.h"
#include "compiler/Target/KernelAction.h"
#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "dialects/Plan/Plan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/Threading.h"
#include "runtime/schema/Constants.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace mlir::heddle;

static LogicalResult serializeSpirv(spirv::ModuleOp module, int64_t subgroup, KernelCode &code) {
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
  code.halves = llvm::is_contained(module.getVceTripleAttr().getCapabilities(), spirv::Capability::Float16);
  module.walk([&](spirv::KHRCooperativeMatrixMulAddOp op) {
    code.cooperativeSide = cast<spirv::CooperativeMatrixType>(op.getResult().getType()).getRows();
    code.subgroup = static_cast<uint32_t>(subgroup);
  });
  code.sharedBytes = static_cast<uint32_t>(getSharedBytes(module));
  code.texels = getTexelArguments(module);
  return serializeKernel(module, code.words);
}

/// PTX is text; a null byte ends it, and more of them fill the last word.
static LogicalResult serializePtx(gpu::GPUModuleOp module, KernelCode &code) {
  auto main = module.lookupSymbol<LLVM::LLVMFuncOp>("main");
  auto lanes = main->getAttrOfType<DenseI32ArrayAttr>(NVVM::NVVMDialect::getMaxntidAttrName());
  code.lanes = lanes[0];
  code.subgroup = ::heddle::schema::kCudaWarp;
  code.chip = cast<NVVM::NVVMTargetAttr>(module.getTargetsAttr()[0]).getChip().str();
  if (auto shared = module->getAttrOfType<IntegerAttr>(kSharedBytesName))
    code.sharedBytes = static_cast<uint32_t>(shared.getInt());
  std::string ptx;
  if (failed(emitPtx(module, ptx)))
    return failure();
  code.words.assign(ptx.size() / sizeof(uint32_t) + 1, 0);
  std::memcpy(code.words.data(), ptx.data(), ptx.size());
  return success();
}

static LogicalResult serialize(Operation *module, int64_t subgroup, KernelCode &code) {
  code.name = SymbolTable::getSymbolName(module).str();
  if (auto spirv = dyn_cast<spirv::ModuleOp>(module))
    return serializeSpirv(spirv, subgroup, code);
  return serializePtx(cast<gpu::GPUModuleOp>(module), code);
}

static LogicalResult assemble(KernelCode &code, StringRef ptxas, Location loc) {
  std::string message;
  StringRef ptx(reinterpret_cast<const char *>(code.words.data()));
  std::optional<Cubin> cubin = assemblePtx(ptxas, ptx, code.chip, message);
  if (!cubin)
    return emitError(loc) << "kernel '" << code.name << "': ptxas (" << ptxas << ") fails: " << message
                          << "; with --ptxas=none the driver compiles the PTX instead";
  code.binary = std::move(cubin->bytes);
  code.registers = cubin->registers;
  code.spillBytes = cubin->spillBytes;
  return success();
}

LogicalResult KernelTable::build(MutableArrayRef<PlannedTarget> planned, StringRef ptxas) {
  llvm::SetVector<StringAttr> names;
  ModuleOp first = planned.front().module;
  for (auto entry : first.getOps<plan::EntryOp>())
    for (auto launch : entry.getOps<plan::LaunchOp>())
      names.insert(launch.getKernelAttr().getAttr());

  std::vector<std::vector<KernelCode>> codes(planned.size());
  for (auto [target, kernels] : llvm::zip(planned, codes)) {
    SmallVector<Operation *> modules;
    SymbolTable symbols(target.module);
    for (StringAttr name : names) {
      modules.push_back(symbols.lookup(name));
      if (!modules.back())
        return target.module.emitError() << "target " << target.name << " has no kernel '" << name.getValue() << "'";
    }
    kernels.resize(modules.size());
    MLIRContext *context = target.module.getContext();
    if (failed(failableParallelForEachN(context, 0, modules.size(), [&](size_t i) {
          return runKernelAction(context, "serialize", names[i].getValue(),
                                 [&] { return serialize(modules[i], target.subgroup, kernels[i]); });
        })))
      return failure();
  }

  // One kernel for all that are the same in every target.
  std::map<std::vector<std::pair<uint32_t, ArrayRef<uint32_t>>>, uint32_t, decltype([](const auto &a, const auto &b) {
             return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](auto &x, auto &y) {
               if (x.first != y.first)
                 return x.first < y.first;
               return std::lexicographical_compare(x.second.begin(), x.second.end(), y.second.begin(), y.second.end());
             });
           })>
      known;
  targets.resize(planned.size());
  SmallVector<size_t> kept;
  for (auto [number, name] : llvm::enumerate(names)) {
    std::vector<std::pair<uint32_t, ArrayRef<uint32_t>>> key;
    for (const auto &kernels : codes)
      key.push_back({kernels[number].lanes, kernels[number].words});
    auto [place, isNew] = known.try_emplace(std::move(key), kept.size());
    if (isNew)
      kept.push_back(number);
    indices[name] = place->second;
  }
  for (auto [kernels, into] : llvm::zip(codes, targets))
    for (size_t number : kept)
      into.push_back(std::move(kernels[number]));

  SmallVector<KernelCode *> ptx;
  for (std::vector<KernelCode> &kernels : targets)
    for (KernelCode &code : kernels)
      if (!ptxas.empty() && !code.chip.empty())
        ptx.push_back(&code);
  return failableParallelForEach(first.getContext(), ptx, [&](KernelCode *code) {
    return runKernelAction(first.getContext(), "assemble", code->name,
                           [&] { return assemble(*code, ptxas, first.getLoc()); });
  });
}
