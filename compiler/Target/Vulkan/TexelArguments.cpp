#include "compiler/Target/Vulkan/TexelArguments.h"

#include "dialects/Heddle/Heddle.h"
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// lavapipe's maxTexelBufferElements.
constexpr int64_t kMaxTexels = int64_t(1) << 27;

class PartialArguments {
public:
  explicit PartialArguments(ModuleOp module) {
    for (auto variable : module.getOps<VariableOp>())
      if (variable.getStorageAttr())
        views.insert(variable.getSymNameAttr());
    for (auto size : module.getOps<SizeOp>())
      maxima[size.getSymName()] = size.getMaximum();
    for (auto kernel : module.getOps<tile::FuncOp>())
      vectors[kernel.getSymNameAttr()] = kernel.getVector();
    module.walk([&](tile::LaunchOp launch) {
      add(launch.getKernelAttr().getAttr(), launch);
      if (auto variants = launch.getVariantsAttr())
        for (Attribute variant : variants)
          add(cast<tile::VariantAttr>(variant).getKernel().getAttr(), launch);
    });
  }

  DenseMap<StringAttr, llvm::BitVector> partial;

private:
  void add(StringAttr kernel, tile::LaunchOp launch) {
    llvm::BitVector &arguments = partial[kernel];
    arguments.resize(launch.getInputs().size());
    for (auto [i, input] : llvm::enumerate(launch.getInputs()))
      if (isPart(input, launch) || !fitsTexels(cast<RankedTensorType>(input.getType()), vectors.lookup(kernel)))
        arguments.set(i);
  }

  /// Returns true if the value may be part of another tensor. The steps of a repetition read parts that move.
  bool isPart(Value value, tile::LaunchOp launch) const {
    if (isa<RepeatOp>(launch->getParentOp()) ||
        llvm::any_of(value.getUsers(), [](Operation *user) { return isa<ConcatOp>(user); }))
      return true;
    Operation *op = value.getDefiningOp();
    if (auto read = dyn_cast_or_null<ReadOp>(op))
      return views.contains(read.getVariableAttr().getAttr());
    return op && !isa<tile::LaunchOp>(op);
  }

  /// Returns true if the tensor consists of whole texels, and of no more than a texel buffer holds.
  bool fitsTexels(RankedTensorType type, int64_t texelFloats) const {
    int64_t elements = 1;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      elements *= type.isDynamicDim(dim) ? maxima.lookup(getSizeName(type, dim)) : type.getDimSize(dim);
    return texelFloats > 0 && elements % texelFloats == 0 && elements / texelFloats <= kMaxTexels;
  }

  DenseSet<StringAttr> views;
  llvm::StringMap<int64_t> maxima;       // the maximum of each size
  DenseMap<StringAttr, int64_t> vectors; // the vector width of each kernel
};

} // namespace

DenseMap<StringAttr, llvm::BitVector> heddle::getPartialArguments(ModuleOp module) {
  return std::move(PartialArguments(module).partial);
}
