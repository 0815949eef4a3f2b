// What each op of the heddle dialect needs. Elementwise ops that are not listed count as arithmetic does: one operation
// an element of a floating-point result, nothing for integers and truth values.
#include "compiler/Cost/Cost.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// `perElement` operations for each element of the first operand or, where there is none, of the first result.
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

/// Scaled gradient (1), moments (3 and 4), corrections (2), root, epsilon, rate, quotient, difference (5), average (3).
struct AdamCost : CostOpInterface::ExternalModel<AdamCost, AdamOp> {
  Amount countFlops(Operation *op, CostCounter &) const {
    auto adam = cast<AdamOp>(op);
    return Amount::elements(adam.getWeight().getType()) * (adam.getAverage() ? 18 : 15);
  }
};

/// As many products as there are projections.
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

/// The table's rows that the indices name, not the table.
struct EmbeddingCost : CostOpInterface::ExternalModel<EmbeddingCost, EmbeddingOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    return Amount::bytes(operand == 1 ? op->getResult(0).getType() : op->getOperand(operand).getType());
  }
};

/// The rows or columns that are taken, not all that there are.
template <typename PartOp> struct PartCost : CostOpInterface::ExternalModel<PartCost<PartOp>, PartOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    return Amount::bytes(operand == 0 ? op->getResult(0).getType() : op->getOperand(operand).getType());
  }
};

/// Of the destination the rows of a step alone are touched.
struct InsertRowsCost : CostOpInterface::ExternalModel<InsertRowsCost, InsertRowsOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &) const {
    return operand == 1 ? Amount() : Amount::bytes(op->getOperand(operand).getType());
  }
  Amount countBytesWritten(Operation *op, unsigned, CostCounter &) const {
    return Amount::bytes(op->getOperand(0).getType());
  }
};

/// Of the destination only the rows at the indices are touched; they are read where something is added to them.
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

/// Of the logits only those at the places are touched.
struct PenaliseCost : CostOpInterface::ExternalModel<PenaliseCost, PenaliseOp> {
  static Type places(Operation *op) { return cast<PenaliseOp>(op).getPenalties().getType(); }
  Amount countFlops(Operation *op, CostCounter &) const { return Amount::elements(places(op)); }
  Amount countBytesRead(Operation *op, unsigned, CostCounter &) const { return Amount::bytes(places(op)); }
  Amount countBytesWritten(Operation *op, unsigned, CostCounter &) const { return Amount::bytes(places(op)); }
};

/// Of the compact matrix every row is read once; each element of the dense one is written.
struct DensifyCost : CostOpInterface::ExternalModel<DensifyCost, DensifyOp> {
  Amount countFlops(Operation *, CostCounter &) const { return {}; }
};

/// A row is added to what is there, after zeros were written.
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

/// The FLOPs of attention are those of its products over the pairs that it visits, as is customary; the softmax's few
/// operations a pair are left out. `products`: how many products of a head's width count for each pair, two operations
/// a column; `modelProducts`: how many count as model FLOPs (bench/README.md).
template <typename AttentionLike, int64_t products, int64_t modelProducts>
struct AttentionCost
    : CostOpInterface::ExternalModel<AttentionCost<AttentionLike, products, modelProducts>, AttentionLike> {
  static Amount count(AttentionLike attention, int64_t productCount, CostCounter &counter) {
    int64_t columns = cast<RankedTensorType>(attention.getQuery().getType()).getDimSize(1); // of all heads
    return counter.pairs(attention) * (2 * productCount * columns);
  }
  Amount countFlops(Operation *op, CostCounter &counter) const {
    return count(cast<AttentionLike>(op), products, counter);
  }
  Amount countModelFlops(Operation *op, CostCounter &counter) const {
    return count(cast<AttentionLike>(op), modelProducts, counter);
  }
  /// Keys and values in a cache, whose extent is static, are read as far as the sequences reach.
  Amount countBytesRead(Operation *op, unsigned operand, CostCounter &counter) const {
    auto attention = cast<AttentionLike>(op);
    Value value = op->getOperand(operand);
    auto type = cast<RankedTensorType>(value.getType());
    if ((value == attention.getKey() || value == attention.getValue()) && type.hasStaticShape())
      return counter.keys(attention) * (type.getDimSize(1) * type.getElementTypeBitWidth() / 8);
    return Amount::bytes(type);
  }
};

/// One product over all pairs of each sequence, or as many operations on pairs of elements. Of scores, what belongs to
/// no pair is memory all the same.
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
    // The sum of the exponentials; walks that only compare do not count.
    DrawOp::attachInterface<PerElement<DrawOp, 3>>(*context);
    PenaliseOp::attachInterface<PenaliseCost>(*context);
    // An addition or a comparison.
    SegmentOp::attachInterface<PerElement<SegmentOp, 1>>(*context);
    // Mean; difference, square and sum; scaled; times gamma plus beta.
    LayerNormOp::attachInterface<PerElement<LayerNormOp, 7>>(*context);
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
    RotaryOp::attachInterface<PerElement<RotaryOp, 4>>(*context);
    LocateOp::attachInterface<PerElement<LocateOp, 0>>(*context);
    ScoresOp::attachInterface<PairsCost<ScoresOp>>(*context);
    ScoresGradQueryOp::attachInterface<PairsCost<ScoresGradQueryOp>>(*context);
    ScoresGradKeyOp::attachInterface<PairsCost<ScoresGradKeyOp>>(*context);
    ContextOp::attachInterface<PairsCost<ContextOp>>(*context);
    TransposedContextOp::attachInterface<PairsCost<TransposedContextOp>>(*context);
    // The largest element, difference, exponential and their sum, quotient.
    SoftmaxOp::attachInterface<PerElement<SoftmaxOp, 5>>(*context);
    // Product and its sum, difference, product.
    SoftmaxGradOp::attachInterface<PerElement<SoftmaxGradOp, 4>>(*context);
    MaskOp::attachInterface<PerElement<MaskOp, 0>>(*context);
    // Forward: Q K^T and P V. Backward: the scores again, dP, dQ, dK and dV, which is five, of which the scores are not
    // the model's; the scores and dP serve both halves, so that each half counts half of them.
    AttentionOp::attachInterface<AttentionCost<AttentionOp, 2, 2>>(*context);
    AttentionGradQueryOp::attachInterface<AttentionCost<AttentionGradQueryOp, 2, 2>>(*context);
    AttentionGradKeyValueOp::attachInterface<AttentionCost<AttentionGradKeyValueOp, 3, 2>>(*context);
  });
}
