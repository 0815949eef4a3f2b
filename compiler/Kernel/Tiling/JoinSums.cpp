// Gradients of gains and biases are sums over rows, which a kernel before has at hand: the gradient of the layer norm whose
// gain or bias it is, or that follows the bias; attention's gradients, whose rows are the gradients of queries, keys and
// values; or a matmul on tensor cores. That kernel makes partial sums of them, and another kernel adds these up:
//
//   dx = layer_norm_grad g, x, ...                 dx, p = layer_norm_grad g, x, ...; partial_sums g : T x N -> G x N
//   b = sum rows g : T x N -> N             =>     b = sum rows p : G x N -> N
//
// Otherwise the sums would read all rows again.
#include "compiler/Kernel/Tiling/Passes.h"
#include "compiler/Kernel/Tiling/Tiling.h"

#include "compiler/Analysis/Cost/Cost.h"
#include "compiler/Analysis/Kernels/Fragments.h"
#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowFrame.h"
#include "compiler/Kernel/Tiling/SeparateProduct.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_JOINSUMSPASS
#include "compiler/Kernel/Tiling/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The rows that a kernel can add up while it computes its own result.
struct Maker {
  RankedTensorType rows;    // those that it has at hand
  DimsAttr dims = {};       // of the partial sums, if their number is known at run time
  int64_t groups;           // the number of partial sums, at most
  bool hasOperands = false; // its operands are such rows, too
};

class JoinSumsPass : public mlir::heddle::impl::JoinSumsPassBase<JoinSumsPass> {
public:
  using Base::Base;
  JoinSumsPass() = default;
  explicit JoinSumsPass(const TargetProfile &profile) : profile(&profile) { target = profile.name.str(); }

  LogicalResult initialize(MLIRContext *) override { return resolveTarget(profile, target); }

  void runOnOperation() override {
    if (profile->processors == 0)
      return;
    maxima = getSizeMaxima(getOperation());
    SmallVector<std::pair<KernelOp, Maker>> kernels;
    getOperation().walk([&](KernelOp kernel) {
      if (std::optional<Maker> maker = makerOf(kernel))
        kernels.emplace_back(kernel, *maker);
    });
    for (auto [kernel, maker] : kernels)
      for (bool isJoined = true; isJoined;) {
        isJoined = false;
        for (KernelOp sums : findSums(kernel, maker))
          if (mayJoin(kernel, sums, maker)) {
            kernel = join(kernel, sums, maker);
            isJoined = true;
            break;
          }
      }
    if (failed(countAll()))
      signalPassFailure();
  }

private:
  /// Nothing if the kernel makes no sums on the way.
  std::optional<Maker> makerOf(KernelOp kernel) const {
    for (Operation &op : kernel.getBody().front()) {
      if (auto norm = dyn_cast<LayerNormGradOp>(op))
        return ofNorm(norm);
      if (auto query = dyn_cast<AttentionGradQueryOp>(op))
        // Heads of a group that share keys are rows of one tile, unless the kernel makes sums.
        return typeOf(query.getQuery()).getDimSize(1) == typeOf(query.getKey()).getDimSize(1)
                   ? ofAttention(query, query.getResult(), query.getQuerySize())
                   : std::nullopt;
      if (auto keys = dyn_cast<AttentionGradKeyValueOp>(op))
        return ofAttention(keys, keys.getKeyGradient(), keys.getKeySize());
    }
    MatmulOp product = findTensorProduct(kernel, *profile);
    return product ? ofProduct(product) : std::nullopt;
  }

  std::optional<Maker> ofNorm(LayerNormGradOp norm) const {
    RankedTensorType rows = typeOf(norm.getInput());
    if (!ownsWholeRows(*profile, rows.getDimSize(1)) || !rows.isDynamicDim(0))
      return {};
    // A lane holds sums of whole columns, which leaves registers for two workgroups per processor. Each subgroup adds up
    // at least a few rows, so that there are fewer partial sums than rows.
    constexpr int64_t workgroupsOfProcessor = 2, fewestRows = 4;
    int64_t groups = std::min(workgroupsOfProcessor * profile->processors,
                              maximumRows(rows) / (fewestRows * profile->rows.subgroups));
    if (groups < 2)
      return {};
    return Maker{rows, {}, static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(groups))), /*hasOperands=*/true};
  }

  /// Each workgroup has a row of the partial sums, even if its rows are past the end of a short sequence. Their number
  /// depends on the longest sequence and on the number of sequences, so it may be too large.
  template <typename GradOp> std::optional<Maker> ofAttention(GradOp op, Value result, StringRef size) const {
    constexpr int64_t fewestRows = 8; // of a partial sum
    const TargetProfile &target = *profile;
    RankedTensorType rows = typeOf(result), starts = typeOf(op.getQueryStarts());
    bool isOfFragments =
        target.attention.tensor.subgroups > 0 && !target.tensor.cooperative && isTensorOperand(op.getQuery().getType());
    if (!isOfFragments || size.empty() || !isa<BlockArgument>(op.getQueryStarts()))
      return {};
    // The lowest number of rows of a workgroup (AttentionFragments.cpp).
    int64_t rowsOfWorkgroup = target.attention.tensor.subgroups * target.tensor.matrix.rows;
    int64_t ofSequence = llvm::divideCeil(maxima.lookup(size), rowsOfWorkgroup),
            groups = ofSequence * maximumRows(starts);
    if (groups * fewestRows > maximumRows(rows))
      return {};
    if (!starts.isDynamicDim(0))
      return Maker{rows, {}, groups};
    auto name = StringAttr::get(op.getContext(), getMultipleOfSize(getSizeName(starts, 0), ofSequence));
    return Maker{rows, DimsAttr::get(op.getContext(), name), groups};
  }

  /// Each subgroup has a row of the partial sums for each tile of rows.
  std::optional<Maker> ofProduct(MatmulOp product) const {
    RankedTensorType rows = product.getType();
    TensorProduct described = describeProduct(product, maxima);
    described.sumsRows = true;
    TensorTile tile = chooseTensorTile(*profile, described);
    bool isAlone = llvm::hasSingleElement(product->getBlock()->getOps<MatmulOp>());
    if (!isAlone || !rows.isDynamicDim(0) || described.n % tile.columns != 0 ||
        choosePartsOfDepth(*profile, described) != 1 || !isPersistent(*profile, described, tile))
      return {};
    int64_t tiles = llvm::divideCeil(described.m, tile.allRows());
    return Maker{rows, {}, tiles * tile.subgroups};
  }

  int64_t maximumRows(RankedTensorType type) const {
    return type.isDynamicDim(0) ? maxima.lookup(getSizeName(type, 0)) : type.getDimSize(0);
  }

  /// Returns the kernels behind `kernel` that read its results (or operands) and compute only sums over rows.
  static SmallVector<KernelOp> findSums(KernelOp kernel, const Maker &maker) {
    SetVector<Operation *> readers;
    auto addReaders = [&](ValueRange values) {
      for (Value value : values)
        for (Operation *user : value.getUsers())
          if (isa<KernelOp>(user) && user->getBlock() == kernel->getBlock() && kernel->isBeforeInBlock(user))
            readers.insert(user);
    };
    addReaders(kernel.getResults());
    if (maker.hasOperands)
      addReaders(kernel.getInputs());
    SmallVector<KernelOp> sums;
    for (Operation *reader : readers)
      if (auto each = cast<KernelOp>(reader); sumsWholeRows(each, maker.rows))
        sums.push_back(each);
    llvm::sort(sums, [](KernelOp a, KernelOp b) { return a->isBeforeInBlock(b); });
    return sums;
  }

  static bool sumsWholeRows(KernelOp kernel, RankedTensorType rows) {
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (isa<KernelOpInterface>(op) && !isa<SumOp>(op))
        return false;
    return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(), [&](Value result) {
      auto sum = result.getDefiningOp<SumOp>();
      return sum && !sum.getColumns() && sum->hasOneUse() && typeOf(sum.getInput()) == rows;
    });
  }

  /// Returns true if the kernel can read what the sums need, and has arguments for it.
  bool mayJoin(KernelOp kernel, KernelOp sums, const Maker &maker) const {
    llvm::SmallSetVector<Value, 16> inputs(kernel.getInputs().begin(), kernel.getInputs().end());
    for (Value input : sums.getInputs()) {
      Operation *producer = input.getDefiningOp();
      if (producer == kernel)
        continue;
      if (!maker.hasOperands)
        return false;
      if (producer && producer->getBlock() == kernel->getBlock() && !producer->isBeforeInBlock(kernel))
        return false;
      inputs.insert(input);
    }
    constexpr int64_t sizes = 1;
    auto arguments = static_cast<int64_t>(inputs.size() + kernel.getNumResults() + sums.getNumResults()) + sizes;
    return arguments <= profile->limits.bindings;
  }

  /// Moves the sums to the kernel, and returns it.
  KernelOp join(KernelOp kernel, KernelOp sums, const Maker &maker) {
    OpBuilder builder(kernel);
    Location loc = builder.getFusedLoc({kernel.getLoc(), sums.getLoc()});
    if (maker.dims)
      declareMultiple(getOperation(), maker.dims.getNames().front());
    Block &body = kernel.getBody().front(), &added = sums.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    SmallVector<Value> inputs(kernel.getInputs()), yielded(yield.getOperands());
    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(sums.getInputs(), added.getArguments())) {
      if (input.getDefiningOp() == kernel) {
        mapping.map(argument, yielded[cast<OpResult>(input).getResultNumber()]);
        continue;
      }
      auto known = llvm::find(inputs, input);
      if (known == inputs.end()) {
        mapping.map(argument, body.addArgument(input.getType(), argument.getLoc()));
        inputs.push_back(input);
      } else {
        mapping.map(argument, body.getArgument(known - inputs.begin()));
      }
    }
    builder.setInsertionPoint(yield);
    for (Operation &op : added.without_terminator())
      if (!isa<SumOp>(op))
        builder.clone(op, mapping);
    SmallVector<Type> types(kernel.getResultTypes()), partial;
    for (Value result : added.getTerminator()->getOperands()) {
      auto sum = result.getDefiningOp<SumOp>();
      int64_t groups = maker.dims ? ShapedType::kDynamic : maker.groups;
      partial.push_back(RankedTensorType::get({groups, typeOf(sum).getDimSize(0)}, builder.getF32Type(), maker.dims));
      yielded.push_back(
          PartialSumsOp::create(builder, sum.getLoc(), partial.back(), mapping.lookupOrDefault(sum.getInput())));
    }
    yield->setOperands(yielded);
    llvm::append_range(types, partial);

    builder.setInsertionPoint(kernel);
    StringRef name = kernel.getName();
    auto joined =
        KernelOp::create(builder, loc, types, name.ends_with("_sums") ? name.str() : (name + "_sums").str(), inputs);
    joined.getBody().takeBody(kernel.getBody());
    ValueRange partials = joined.getResults().drop_front(kernel.getNumResults());
    builder.setInsertionPoint(sums);
    auto whole = KernelOp::create(builder, sums.getLoc(), sums.getResultTypes(), "sum", partials);
    Block *block = builder.createBlock(&whole.getBody());
    SmallVector<Value> totals;
    for (auto [value, type] : llvm::zip_equal(partials, sums.getResultTypes()))
      totals.push_back(SumOp::create(builder, sums.getLoc(), type, block->addArgument(value.getType(), sums.getLoc()),
                                     /*columns=*/false));
    YieldOp::create(builder, sums.getLoc(), totals);
    if (kernel->hasAttr(kCostAttrName) || uncounted.remove(kernel))
      uncounted.insert_range(ArrayRef<Operation *>{joined, whole});
    sums.replaceAllUsesWith(whole.getResults());
    sums.erase();
    kernel.replaceAllUsesWith(joined.getResults().take_front(kernel.getNumResults()));
    kernel.erase();
    return joined;
  }

  LogicalResult countAll() {
    for (Operation *op : uncounted.takeVector()) {
      FailureOr<CostAttr> cost = CostCounter(getOperation()).count(cast<KernelOp>(op));
      if (failed(cost))
        return failure();
      op->setAttr(kCostAttrName, *cost);
    }
    return success();
  }

  const TargetProfile *profile = nullptr;
  SizeMaxima maxima;
  llvm::SetVector<Operation *> uncounted; // joined kernels
};

} // namespace

std::unique_ptr<Pass> heddle::createJoinSumsPass(const TargetProfile &profile) {
  return std::make_unique<JoinSumsPass>(profile);
}
