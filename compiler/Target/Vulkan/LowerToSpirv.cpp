#include "compiler/Target/Vulkan/LowerToSpirv.h"
#include "compiler/Target/Vulkan/Passes.h"

#include "compiler/Target/KernelAction.h"
#include "compiler/Target/MatrixIndex.h"
#include "compiler/Target/Vulkan/SharedMemory.h"
#include "compiler/Target/Vulkan/SpirvPatterns.h"
#include "compiler/Target/Vulkan/TexelArguments.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Conversion/UBToSPIRV/UBToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_LOWERTOSPIRVPASS
#include "compiler/Target/Vulkan/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The capabilities that all kernels declare. The runtime requires them of a device (runtime/hal/vulkan/Features.cpp).
constexpr spirv::Capability kBaseCapabilities[] = {
    spirv::Capability::Shader, spirv::Capability::PhysicalStorageBufferAddresses, spirv::Capability::VulkanMemoryModel};
constexpr spirv::Capability kExchangeCapabilities[] = {spirv::Capability::GroupNonUniform,
                                                       spirv::Capability::GroupNonUniformShuffle};

constexpr spirv::Capability kHalfCapabilities[] = {
    spirv::Capability::Float16, spirv::Capability::StorageBuffer16BitAccess, spirv::Capability::RoundingModeRTE};

/// bf16 exists only in memory, as the upper halves of f32. Pointers to it are cast to pointers to i16, which needs
/// Int16.
constexpr spirv::Capability kShortCapabilities[] = {spirv::Capability::Int16,
                                                    spirv::Capability::StorageBuffer16BitAccess};

constexpr spirv::Capability kCooperativeCapabilities[] = {spirv::Capability::CooperativeMatrixKHR,
                                                          spirv::Capability::GroupNonUniform};

/// The optional features that a kernel uses.
struct Uses {
  bool exchange, texels, float16, int16, cooperative;
};

spirv::VerCapExtAttr getTriple(MLIRContext *context, const Uses &uses) {
  SmallVector<spirv::Capability> capabilities = llvm::to_vector(ArrayRef(kBaseCapabilities));
  if (uses.exchange)
    llvm::append_range(capabilities, ArrayRef(kExchangeCapabilities));
  if (uses.texels)
    capabilities.push_back(spirv::Capability::SampledBuffer);
  if (uses.float16)
    llvm::append_range(capabilities, ArrayRef(kHalfCapabilities));
  if (uses.int16)
    for (spirv::Capability capability : kShortCapabilities)
      if (!llvm::is_contained(capabilities, capability))
        capabilities.push_back(capability);
  SmallVector<spirv::Extension> extensions;
  if (uses.cooperative) {
    for (spirv::Capability capability : kCooperativeCapabilities)
      if (!llvm::is_contained(capabilities, capability))
        capabilities.push_back(capability);
    extensions.push_back(spirv::Extension::SPV_KHR_cooperative_matrix);
  }
  return spirv::VerCapExtAttr::get(uses.cooperative ? spirv::Version::V_1_6 : spirv::Version::V_1_5, capabilities,
                                   extensions, context);
}

/// Converts one kernel. Touches only the kernel and its module, so that kernels can be converted in parallel.
class KernelLowering {
public:
  /// `partial`: the arguments that may lie anywhere (see getPartialArguments), or none if there are no texel buffers.
  KernelLowering(tile::FuncOp kernel, spirv::ModuleOp module, std::optional<llvm::BitVector> partial)
      : kernel(kernel), module(module), context(kernel.getContext()), texelFloats(kernel.getVector()),
        partial(std::move(partial)) {}

  LogicalResult run() {
    Uses uses{};
    uses.exchange = kernel.walk([](gpu::ShuffleOp) { return WalkResult::interrupt(); }).wasInterrupted();
    uses.cooperative = kernel.getMapping() == tile::LaneMapping::Tensor;
    auto takes = [&](auto is) {
      return llvm::any_of(kernel.getArgumentTypes(), [&](Type type) {
        auto matrix = dyn_cast<MemRefType>(type);
        return matrix && is(matrix.getElementType());
      });
    };
    uses.float16 = takes([](Type element) { return element.isF16(); });
    uses.int16 = takes([](Type element) { return element.isBF16(); });
    if (failed(verifyMatrices(kernel, kernel.getArgumentTypes())))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto main = spirv::FuncOp::create(builder, kernel.getLoc(), "main", builder.getFunctionType({}, {}));
    main.getBody().takeBody(kernel.getBody());
    uses.texels = partial && bindTexels(main);
    if (uses.texels)
      module->setAttr(kTexelFloatsName, builder.getI64IntegerAttr(texelFloats));
    if (uses.exchange)
      module->setAttr(kExchangeName, builder.getI64IntegerAttr(kernel.getSubgroup().value_or(kernel.getWorkgroup())));
    bindArguments(main);
    declareShared(main);
    if (failed(convert(main, uses)))
      return failure();
    addUsesOf(main, uses);
    module.setVceTripleAttr(getTriple(context, uses));

    SmallVector<Attribute> interface;
    for (auto variable : module.getOps<spirv::GlobalVariableOp>())
      interface.push_back(FlatSymbolRefAttr::get(variable));
    builder.setInsertionPointToEnd(module.getBody());
    spirv::EntryPointOp::create(builder, kernel.getLoc(), spirv::ExecutionModel::GLCompute, main, interface);
    spirv::ExecutionModeOp::create(builder, kernel.getLoc(), main, spirv::ExecutionMode::LocalSize,
                                   {static_cast<int32_t>(kernel.getWorkgroup()), 1, 1});
    if (uses.float16) // without it a device may round toward zero, as lavapipe does since Mesa 26
      spirv::ExecutionModeOp::create(builder, kernel.getLoc(), main, spirv::ExecutionMode::RoundingModeRTE, {16});
    return success();
  }

private:
  /// Makes loads of matrices that the kernel only reads go through a texel buffer: descriptor set 0, with the argument's
  /// number as binding. Returns true if there is any. Texel fetches do not guarantee to see the kernel's own writes, so
  /// matrices that it writes are read by address.
  bool bindTexels(spirv::FuncOp main) {
    OpBuilder builder(main);
    Block &entry = main.getBody().front();
    auto image = spirv::ImageType::get(builder.getF32Type(), spirv::Dim::Buffer, spirv::ImageDepthInfo::NoDepth,
                                       spirv::ImageArrayedInfo::NonArrayed, spirv::ImageSamplingInfo::SingleSampled,
                                       spirv::ImageSamplerUseInfo::NeedSampler, spirv::ImageFormat::Unknown);
    bool any = false;
    for (BlockArgument argument : entry.getArguments()) {
      SmallVector<OpOperand *> loads = getTexelLoads(argument);
      if (loads.empty())
        continue;
      any = true;
      Location loc = argument.getLoc();
      builder.setInsertionPoint(main);
      auto variable = spirv::GlobalVariableOp::create(
          builder, loc, spirv::PointerType::get(image, spirv::StorageClass::UniformConstant),
          ("texels_" + Twine(argument.getArgNumber())).str(), /*descriptorSet=*/0, argument.getArgNumber());
      builder.setInsertionPointToStart(&entry);
      Value texels = spirv::LoadOp::create(builder, loc, spirv::AddressOfOp::create(builder, loc, variable));
      Value matrix = UnrealizedConversionCastOp::create(builder, loc, argument.getType(), texels).getResult(0);
      for (OpOperand *load : loads)
        load->set(matrix);
    }
    return any;
  }

  /// The loads of an argument that can be texel fetches. A texel has as many f32 as the kernel's vectors. Vectors of i32
  /// are fetched as f32 and bitcast. If vectors have one or two elements, single elements are fetched too. Empty if the
  /// kernel stores to the argument.
  SmallVector<OpOperand *> getTexelLoads(BlockArgument argument) const {
    SmallVector<OpOperand *> loads;
    if (texelFloats < 4 && argument.getArgNumber() < partial->size() && partial->test(argument.getArgNumber()))
      return loads;
    for (OpOperand &use : argument.getUses()) {
      Operation *user = use.getOwner();
      if (isa<memref::StoreOp, vector::StoreOp>(user))
        return {};
      auto vector = isa<vector::LoadOp>(user) ? cast<VectorType>(user->getResult(0).getType()) : VectorType();
      bool isServed = vector ? vector.getNumElements() == texelFloats : isa<memref::LoadOp>(user) && texelFloats < 4;
      if (isServed && getElementTypeOrSelf(user->getResult(0)).getIntOrFloatBitWidth() == 32)
        loads.push_back(&use);
    }
    return loads;
  }

  /// Arguments are pointers in the push constants: to a matrix's first element, or to an i32 with a run-time size.
  void bindArguments(spirv::FuncOp main) {
    Block &entry = main.getBody().front();
    if (entry.getNumArguments() == 0)
      return;
    OpBuilder builder(main);
    Type i32 = builder.getI32Type();
    SmallVector<Type> pointers;
    SmallVector<uint32_t> offsets;
    for (BlockArgument argument : entry.getArguments()) {
      auto matrix = dyn_cast<MemRefType>(argument.getType());
      pointers.push_back(getArrayPointer(matrix ? inMemory(matrix.getElementType()) : i32));
      offsets.push_back(argument.getArgNumber() * sizeof(uint64_t));
    }
    auto block = spirv::StructType::get(pointers, offsets);
    auto variable = spirv::GlobalVariableOp::create(
        builder, main.getLoc(), spirv::PointerType::get(block, spirv::StorageClass::PushConstant), "arguments");
    builder.setInsertionPointToStart(&entry);
    Value base = spirv::AddressOfOp::create(builder, main.getLoc(), variable);
    auto number = [&](unsigned value) -> Value {
      return spirv::ConstantOp::create(builder, main.getLoc(), i32, builder.getI32IntegerAttr(value));
    };
    for (BlockArgument argument : entry.getArguments()) {
      if (argument.use_empty())
        continue;
      Location loc = argument.getLoc();
      Value place = spirv::AccessChainOp::create(builder, loc, base, ValueRange{number(argument.getArgNumber())});
      Value bound = spirv::LoadOp::create(builder, loc, place);
      if (isa<IndexType>(argument.getType()))
        bound = loadSize(builder, loc, bound);
      argument.replaceAllUsesWith(
          UnrealizedConversionCastOp::create(builder, loc, argument.getType(), bound).getResult(0));
    }
    entry.eraseArguments(0, entry.getNumArguments());
  }

  /// Adds the element types that the kernel computes with. The arguments do not show them all: a kernel may round
  /// values that are f32 in memory.
  static void addUsesOf(spirv::FuncOp main, Uses &uses) {
    auto add = [&](TypeRange types) {
      for (Type type : types) {
        Type element = getElementTypeOrSelf(type);
        uses.float16 |= element.isF16();
        uses.int16 |= element.isInteger(16);
      }
    };
    main.walk([&](Operation *op) { add(op->getResultTypes()); });
    main.walk([&](Block *block) { add(block->getArgumentTypes()); });
  }

  /// Returns true for ops that cannot be lowered: i1 arithmetic that the expansions did not turn into logic, and
  /// bitcasts from or to bf16, which has 32 bits in registers.
  static bool isImpossible(Operation *op) {
    if (isa<arith::BitcastOp>(op))
      return getElementTypeOrSelf(op->getOperand(0)).isBF16() || getElementTypeOrSelf(op->getResult(0)).isBF16();
    return isa_and_present<arith::ArithDialect>(op->getDialect()) && op->getNumOperands() == 2 &&
           getElementTypeOrSelf(op->getOperand(0)).isInteger(1) &&
           !isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::CmpIOp>(op);
  }

  static LogicalResult refuse(Operation *op) {
    InFlightDiagnostic message = op->emitError() << "kernels for Vulkan cannot compute '" << op->getName() << "'";
    if (op->getNumResults() > 0)
      message << " of " << getElementTypeOrSelf(op->getResult(0).getType());
    return message << "; write it with ops that they can, which compiler/Target/Vulkan/README.md lists";
  }

  LogicalResult convert(spirv::FuncOp main, const Uses &uses) {
    expandArithmetic(main);
    Operation *impossible = nullptr;
    main.walk([&](Operation *op) {
      impossible = isImpossible(op) ? op : nullptr;
      return impossible ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (impossible)
      return refuse(impossible);

    auto environment = spirv::TargetEnvAttr::get(getTriple(context, {true, true, true, true, uses.cooperative}),
                                                 spirv::getDefaultResourceLimits(context), spirv::ClientAPI::Vulkan);
    SPIRVTypeConverter converter(environment);
    addMatrixConversion(converter);
    std::unique_ptr<ConversionTarget> target = SPIRVConversionTarget::get(environment);
    target->addIllegalOp<UnrealizedConversionCastOp>();
    // Ops of these dialects are neither legal nor illegal. The remaining ones are rejected below, with a helpful
    // message.
    target->addDynamicallyLegalDialect<arith::ArithDialect, gpu::GPUDialect, math::MathDialect, memref::MemRefDialect,
                                       scf::SCFDialect, tile::TileDialect, ub::UBDialect, vector::VectorDialect>(
        [](Operation *) { return std::optional<bool>(); });

    RewritePatternSet patterns(context);
    ScfToSPIRVContext loops;
    arith::populateArithToSPIRVPatterns(converter, patterns);
    populateMathToSPIRVPatterns(converter, patterns);
    populateSCFToSPIRVPatterns(converter, loops, patterns);
    populateVectorToSPIRVPatterns(converter, patterns);
    ub::populateUBToSPIRVConversionPatterns(converter, patterns);
    LaneNumber number = !uses.exchange         ? LaneNumber::OfWorkgroup
                        : kernel.getSubgroup() ? LaneNumber::OfAllSubgroups
                                               : LaneNumber::OfSubgroup;
    populateKernelPatterns(converter, number, texelFloats, patterns);
    populateSharedPatterns(converter, patterns);
    DenseSet<Operation *> left;
    ConversionConfig config;
    config.unlegalizedOps = &left;
    config.foldingMode = DialectConversionFoldingMode::Never; // the canonicalizer has folded all ops
    if (failed(applyPartialConversion(main, *target, std::move(patterns), config)))
      return failure();
    main.walk([&](Operation *op) {
      impossible = left.contains(op) ? op : nullptr;
      return impossible ? WalkResult::interrupt() : WalkResult::advance();
    });
    return impossible ? refuse(impossible) : success();
  }

  tile::FuncOp kernel;
  spirv::ModuleOp module;
  MLIRContext *context;
  int64_t texelFloats;
  std::optional<llvm::BitVector> partial;
};

struct LowerToSpirvPass : mlir::heddle::impl::LowerToSpirvPassBase<LowerToSpirvPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<tile::FuncOp, spirv::ModuleOp>> kernels;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<tile::FuncOp>())) {
      OpBuilder builder(kernel);
      auto module = spirv::ModuleOp::create(builder, kernel.getLoc(), spirv::AddressingModel::PhysicalStorageBuffer64,
                                            spirv::MemoryModel::Vulkan);
      kernels.emplace_back(kernel, module);
    }
    DenseMap<StringAttr, llvm::BitVector> partial;
    if (texelLoads)
      partial = getPartialArguments(getOperation());
    LogicalResult lowered = failableParallelForEach(&getContext(), kernels, [&](auto &pair) {
      auto parts = texelLoads ? std::optional(partial.lookup(pair.first.getSymNameAttr())) : std::nullopt;
      return runKernelAction(&getContext(), "lower to SPIR-V", pair.first.getSymName(),
                             [&] { return KernelLowering(pair.first, pair.second, std::move(parts)).run(); });
    });
    for (auto [kernel, module] : kernels) {
      module.setSymName(kernel.getSymName());
      kernel.erase();
    }
    if (failed(lowered))
      signalPassFailure();
  }
};

} // namespace
