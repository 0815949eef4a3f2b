// The cost of each op of the heddle dialect. Elementwise ops that are not listed count like arithmetic: one operation
// per element of a floating-point result, none for integers and truth values.
#include "compiler/Analysis/Cost/Cost.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// `perElement` operations for each element of the first operand, or of the first result if there is no operand.
template <typename Op, int64_t perElement>
struct PerElement : CostOpInterface::ExternalModel<PerElement<Op, perElement>, Op> {
  Amount countFlops(Operation *op, CostCounter &) const {
    Type type = op->getNumOperands() ? op->getOperand(0).getType() : op->getResult(0).getType();
    return Amount::elements(type) * perElement;
  }
};

template <typename ProductOp> struct ProductCost : CostOpInterface::ExternalModel<ProductCost<ProductOp>, ProductOp> {
  Amount countFlops(Operation *op, CostCounter &) const {
    auto product = cast<ProductOp>(op);
    Type lhs = product.getLhs().getType(), rhs = product.getRhs().getType();
    return Amount::elements(lhs) * Amount::extent(rhs, product.getTransposeRhs() ? 0 : 1) * 2;
  }
  Amount countModelFlops(Operation *op, CostCounter &counter) const { return countFlops(op, counter); }
};

/// Each row meets one group's matrix.
struct GroupedMatmulCost : CostOpInterface::ExternalModel<GroupedMatmulCost, GroupedMatmulOp> {
  Amount countFlops(Operation *op, CostCounter &) const {
    auto product = cast<GroupedMatmulOp>(op);
    return Amount::elements(product.getLhs().getType()) * product.getType().getDimSize(1) * 2;
  }
  Amount countModelFlops(Operation *op, CostCounter &counter) const { return countFlops(op, counter); }
};

/// 15 operations: scaled gradient (1), moments (3 + 4), corrections (2), root, epsilon, rate, quotient and difference
/// (5). The average takes 3 more.
struct AdamCost : CostOpInterface::ExternalModel<AdamCost, AdamOp> {
  Amount countFlops(Operation *op, CostCounter &) const {
    auto adam = cast<AdamOp>(op);
    return Amount::elements(adam.getWeight().getType()) * (adam.getAverage() ? 18 : 15);
  }
};

/// One matmul for each projection.
template <typename Op> struct ProjectCost : CostOpInterface::ExternalModel<ProjectCost<Op>, Op> {
  Amount countFlops(Operation *op, CostCounter &) const {
    auto rows = cast<RankedTensorType>(std::is_same_v<Op, ProjectGradWeightsOp> ? op->getOperand(0).getType()
                                                                                : op->getResult(0).getType());
    auto weights = cast<RankedTensorType>(std::is_same_v<Op, ProjectOp>            ? op->getOperand(1).getType()
                                          : std::is_same_v<Op, ProjectGradInputOp> ? op->getOperand(0).getType()
                                                                                   : op->getResult(0).getType());
    return Amount::extent(rows, 0) * Amount::elements(weights) * 2;
  }
  Amount countModelFlops(Operation *op, CostCounter &counter) const { return countFlops(op, counter); }
};

/// Reads only the table's rows that the indices name.
struct EmbeddingCost : CostOpInterface::ExternalModel<EmbeddingCost, EmbeddingOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    return Amount::bytes(operand == 1 ? op->getResult(0).getType() : op->getOperand(operand).getType());
  }
};

/// Reads only the rows or columns that are taken.
template <typename PartOp> struct PartCost : CostOpInterface::ExternalModel<PartCost<PartOp>, PartOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    return Amount::bytes(operand == 0 ? op->getResult(0).getType() : op->getOperand(operand).getType());
  }
};

/// Touches only the step's rows of the destination.
struct InsertRowsCost : CostOpInterface::ExternalModel<InsertRowsCost, InsertRowsOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    return operand == 1 ? Amount() : Amount::bytes(op->getOperand(operand).getType());
  }
  Amount countBytesWritten(Operation *op, unsigned, CostCounter &) const {
    return Amount::bytes(op->getOperand(0).getType());
  }
};

/// Touches only the destination's rows at the indices. It reads them only if it adds to them.
template <typename ScatterOp> struct ScatterCost : CostOpInterface::ExternalModel<ScatterCost<ScatterOp>, ScatterOp> {
  static constexpr bool adds = std::is_same_v<ScatterOp, ScatterAddOp>;
  Amount countFlops(Operation *op, CostCounter &) const {
    return adds ? Amount::elements(cast<ScatterOp>(op).getRows().getType()) : Amount();
  }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    auto scatter = cast<ScatterOp>(op);
    if (op->getOperand(operand) != scatter.getDestination())
      return Amount::bytes(op->getOperand(operand).getType());
    return adds ? Amount::bytes(scatter.getRows().getType()) : Amount();
  }
  Amount countBytesWritten(Operation *op, unsigned, CostCounter &) const {
    return Amount::bytes(cast<ScatterOp>(op).getRows().getType());
  }
};

/// Touches only the logits at the given places.
struct PenaliseCost : CostOpInterface::ExternalModel<PenaliseCost, PenaliseOp> {
  static Type places(Operation *op) { return cast<PenaliseOp>(op).getPenalties().getType(); }
  Amount countFlops(Operation *op, CostCounter &) const { return Amount::elements(places(op)); }
  Amount countBytesRead(Operation *op, unsigned, CostCounter &) const { return Amount::bytes(places(op)); }
  Amount countBytesWritten(Operation *op, unsigned, CostCounter &) const { return Amount::bytes(places(op)); }
};

/// Reads every row of the compact matrix once, and writes every element of the dense matrix.
struct DensifyCost : CostOpInterface::ExternalModel<DensifyCost, DensifyOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
};

/// Writes zeros first, and then adds each row to the sum in memory. So it reads two values for each element of a row
/// and writes the result twice.
struct SumEqualCost : CostOpInterface::ExternalModel<SumEqualCost, SumEqualOp> {
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    auto sum = cast<SumEqualOp>(op);
    Value value = op->getOperand(operand);
    if (value == sum.getFirst())
      return Amount::bytes(sum.getIndices().getType());
    return Amount::bytes(value.getType()) * (value == sum.getRows() ? 2 : 1);
  }
  Amount countFlops(Operation *op, CostCounter &) const { return Amount::elements(op->getResult(0).getType()); }
  Amount countBytesWritten(Operation *op, unsigned, CostCounter &) const {
    return Amount::bytes(op->getResult(0).getType()) * 2;
  }
};

/// The FLOPs of attention are, as is customary, only those of its matmuls over the visited pairs. The softmax's few
/// operations per pair are left out. `products` is the number of dot products of a head's width for each pair, at two
/// operations per column. `modelProducts` is how many of them count as model FLOPs (bench/README.md).
template <typename AttentionLike, int64_t products, int64_t modelProducts>
struct AttentionCost
    : CostOpInterface::ExternalModel<AttentionCost<AttentionLike, products, modelProducts>, AttentionLike> {
  static Amount count(AttentionLike attention, int64_t productCount, CostCounter &counter) {
    return counter.pairs(attention) * (2 * productCount * columnsOf(attention.getQuery())); // of all heads
  }
  static int64_t columnsOf(Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(1); }
  Amount countFlops(Operation *op, CostCounter &counter) const {
    return count(cast<AttentionLike>(op), products, counter);
  }
  Amount countModelFlops(Operation *op, CostCounter &counter) const {
    return count(cast<AttentionLike>(op), modelProducts, counter);
  }
  /// A cache of keys and values has a static extent. Only the part that the sequences fill is read.
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &counter) const {
    auto attention = cast<AttentionLike>(op);
    Value value = op->getOperand(operand);
    auto type = cast<RankedTensorType>(value.getType());
    if ((value == attention.getKey() || value == attention.getValue()) && type.hasStaticShape())
      return counter.keys(attention) * (type.getDimSize(1) * type.getElementTypeBitWidth() / 8);
    return Amount::bytes(type);
  }
  /// If keys are in parts, only the results of parts that have keys are written.
  Amount countBytesWritten(Operation *op, unsigned result, CostCounter &counter) const {
    auto type = cast<RankedTensorType>(op->getResult(result).getType());
    if constexpr (std::is_same_v<AttentionLike, AttentionOp>)
      if (auto attention = cast<AttentionOp>(op); attention.getPartKeys() != 0) {
        // A part's columns, spread over its keys.
        int64_t parts = columnsOf(attention.getResult()) / columnsOf(attention.getQuery());
        int64_t bytes = type.getDimSize(1) / parts * 4;
        return counter.keys(attention) * static_cast<int64_t>(llvm::divideCeil(bytes, attention.getPartKeys()));
      }
    return Amount::bytes(type);
  }
};

/// One matmul over all pairs of each sequence, or as many elementwise operations on pairs. Elements of the scores that
/// belong to no pair still count as bytes.
template <typename PairsOp> struct PairsCost : CostOpInterface::ExternalModel<PairsCost<PairsOp>, PairsOp> {
  Amount countFlops(Operation *op, CostCounter &counter) const {
    auto product = cast<PairsOp>(op);
    Type query, key;
    if constexpr (std::is_same_v<PairsOp, ScoresOp> || std::is_same_v<PairsOp, ScoresGradQueryOp> ||
                  std::is_same_v<PairsOp, ScoresGradKeyOp>)
      std::tie(query, key) = std::pair(product.getQuery().getType(), product.getKey().getType());
    else if constexpr (std::is_same_v<PairsOp, ContextOp>)
      std::tie(query, key) = std::pair(product.getType(), product.getValue().getType());
    else
      std::tie(query, key) = std::pair(product.getInput().getType(), product.getType());
    return counter.pairs(product, query, key) * (2 * cast<RankedTensorType>(query).getDimSize(1));
  }
  Amount countModelFlops(Operation *op, CostCounter &counter) const { return countFlops(op, counter); }
};

} // namespace

void heddle::registerOpCosts(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    MatmulOp::attachInterface<ProductCost<MatmulOp>>(*context);
    GroupedMatmulOp::attachInterface<GroupedMatmulCost>(*context);
    GatherOp::attachInterface<PerElement<GatherOp, 1>>(*context);
    PickOp::attachInterface<PerElement<PickOp, 0>>(*context);
    PlaceOp::attachInterface<PerElement<PlaceOp, 1>>(*context);
    CountChoicesOp::attachInterface<PerElement<CountChoicesOp, 0>>(*context);
    DispatchOp::attachInterface<PerElement<DispatchOp, 0>>(*context);
    PartialProductsOp::attachInterface<ProductCost<PartialProductsOp>>(*context);
    SumPartsOp::attachInterface<PerElement<SumPartsOp, 1>>(*context);
    ProjectOp::attachInterface<ProjectCost<ProjectOp>>(*context);
    ProjectGradInputOp::attachInterface<ProjectCost<ProjectGradInputOp>>(*context);
    ProjectGradWeightsOp::attachInterface<ProjectCost<ProjectGradWeightsOp>>(*context);
    EmbeddingOp::attachInterface<EmbeddingCost>(*context);
    ScatterAddOp::attachInterface<ScatterCost<ScatterAddOp>>(*context);
    ScatterRowsOp::attachInterface<ScatterCost<ScatterRowsOp>>(*context);
    FindFirstOp::attachInterface<PerElement<FindFirstOp, 0>>(*context);
    StepRowsOp::attachInterface<PartCost<StepRowsOp>>(*context);
    ColumnsOp::attachInterface<PartCost<ColumnsOp>>(*context);
    InsertRowsOp::attachInterface<InsertRowsCost>(*context);
    UnfoldOp::attachInterface<PerElement<UnfoldOp, 0>>(*context);
    FoldOp::attachInterface<PerElement<FoldOp, 1>>(*context);
    SubsampleOp::attachInterface<PerElement<SubsampleOp, 0>>(*context);
    UpsampleOp::attachInterface<PerElement<UpsampleOp, 0>>(*context);
    JoinOp::attachInterface<PerElement<JoinOp, 0>>(*context);
    RankOp::attachInterface<PerElement<RankOp, 0>>(*context);
    StepSizesOp::attachInterface<PerElement<StepSizesOp, 0>>(*context);
    SumEqualOp::attachInterface<SumEqualCost>(*context);
    DensifyOp::attachInterface<DensifyCost>(*context);
    SumOp::attachInterface<PerElement<SumOp, 1>>(*context);
    PartialSumsOp::attachInterface<PerElement<PartialSumsOp, 1>>(*context);
    ArgmaxOp::attachInterface<PerElement<ArgmaxOp, 0>>(*context);
    TopKOp::attachInterface<PerElement<TopKOp, 0>>(*context);
    // The sum of the exponentials. Passes over the row that only compare do not count.
    DrawOp::attachInterface<PerElement<DrawOp, 3>>(*context);
    PenaliseOp::attachInterface<PenaliseCost>(*context);
    // An addition or a comparison.
    SegmentOp::attachInterface<PerElement<SegmentOp, 1>>(*context);
    // Mean; difference, square and sum; scaled; times gamma plus beta.
    LayerNormOp::attachInterface<PerElement<LayerNormOp, 7>>(*context);
    // Difference, scaled; times gamma plus beta.
    LayerNormApplyOp::attachInterface<PerElement<LayerNormApplyOp, 4>>(*context);
    // Normalised input (2), g = gradient * gamma, sums of g and g x (3), g - mean - x mean (3), scaled.
    LayerNormGradOp::attachInterface<PerElement<LayerNormGradOp, 10>>(*context);
    // The largest logit, difference, exponential and their sum, the logits' sum.
    CrossEntropyOp::attachInterface<PerElement<CrossEntropyOp, 5>>(*context);
    // Difference, exponential, target distribution, scaled.
    CrossEntropyGradOp::attachInterface<PerElement<CrossEntropyGradOp, 4>>(*context);
    AdamOp::attachInterface<AdamCost>(*context);
    DropoutOp::attachInterface<PerElement<DropoutOp, 1>>(*context);
    // Two logarithms and two signs.
    GumbelOp::attachInterface<PerElement<GumbelOp, 4>>(*context);
    AttentionDeltaOp::attachInterface<PerElement<AttentionDeltaOp, 2>>(*context);
    MergePartsOp::attachInterface<PerElement<MergePartsOp, 2>>(*context);
    RotaryOp::attachInterface<PerElement<RotaryOp, 4>>(*context);
    LocateOp::attachInterface<PerElement<LocateOp, 0>>(*context);
    ScoresOp::attachInterface<PairsCost<ScoresOp>>(*context);
    ScoresGradQueryOp::attachInterface<PairsCost<ScoresGradQueryOp>>(*context);
    ScoresGradKeyOp::attachInterface<PairsCost<ScoresGradKeyOp>>(*context);
    ContextOp::attachInterface<PairsCost<ContextOp>>(*context);
    TransposedContextOp::attachInterface<PairsCost<TransposedContextOp>>(*context);
    // Maximum, difference, exponential, sum, quotient.
    SoftmaxOp::attachInterface<PerElement<SoftmaxOp, 5>>(*context);
    // Product, sum of products, difference, product.
    SoftmaxGradOp::attachInterface<PerElement<SoftmaxGradOp, 4>>(*context);
    MaskOp::attachInterface<PerElement<MaskOp, 0>>(*context);
    // Forward: Q K^T and P V. Backward: five matmuls, which are the recomputed scores, dP, dQ, dK and dV. Model FLOPs
    // do not contain the recomputed scores. Both gradient ops compute the scores and dP, so each counts half of these
    // two.
    AttentionOp::attachInterface<AttentionCost<AttentionOp, 2, 2>>(*context);
    AttentionGradQueryOp::attachInterface<AttentionCost<AttentionGradQueryOp, 2, 2>>(*context);
    AttentionGradKeyValueOp::attachInterface<AttentionCost<AttentionGradKeyValueOp, 3, 2>>(*context);
  });
}
