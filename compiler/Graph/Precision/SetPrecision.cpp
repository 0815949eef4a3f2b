#include "compiler/Graph/Precision/SetPrecision.h"
#include "compiler/Graph/Precision/Passes.h"

#include "compiler/Analysis/Kernels/Fragments.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_SETPRECISIONPASS
#include "compiler/Graph/Precision/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

struct SetPrecisionPass : mlir::heddle::impl::SetPrecisionPassBase<SetPrecisionPass> {
  using Base::Base;
  SetPrecisionPass() = default;
  SetPrecisionPass(Precision precision, HeadWidths heads) : Base({toString(precision).str()}), heads(heads) {}

  void runOnOperation() override {
    std::optional<Precision> precision = parsePrecision(name);
    if (!precision) {
      getOperation().emitError() << "there is no precision '" << name << "'";
      return signalPassFailure();
    }
    if (*precision == Precision::F32)
      return;
    OpBuilder builder(&getContext());
    if (*precision == Precision::TF32) {
      getOperation().walk([&](ProductOpInterface product) {
        SmallVector<OpOperand *> operands = getProductOperands(product, /*element=*/Type());
        if (operands.empty() || !getElementTypeOrSelf(operands.front()->get()).isF32())
          return;
        product->setAttr(kTensorFloatAttrName, builder.getUnitAttr());
        if (AttentionDeltaOp delta = getDelta(product))
          delta->setAttr(kTensorFloatAttrName, builder.getUnitAttr());
      });
      return;
    }
    if (*precision == Precision::BF16X3)
      return splitOperands();
    Type element = *precision == Precision::BF16 ? Type(builder.getBF16Type()) : Type(builder.getF16Type());
    DenseMap<Value, Value> rounded;
    getOperation().walk([&](ProductOpInterface product) {
      for (OpOperand *operand : getProductOperands(product, element)) {
        Value value = operand->get();
        if (Value stored = getStored(value)) {
          operand->set(stored);
          continue;
        }
        auto type = cast<RankedTensorType>(value.getType());
        if (!type.getElementType().isF32())
          continue;
        Value &result = rounded[value];
        if (!result) {
          builder.setInsertionPointAfterValue(value);
          result = arith::TruncFOp::create(builder, value.getLoc(), type.clone(element), value);
        }
        operand->set(result);
      }
    });
    getOperation().walk([&](CrossEntropyOp entropy) { roundLogits(entropy, element); });
  }

private:
  /// The logits of a large vocabulary are most of a head's traffic: they are written once and read twice. The cross
  /// entropy and its gradient read them in 16 bits.
  static void roundLogits(CrossEntropyOp entropy, Type element) {
    Value logits = entropy.getLogits();
    auto linear = logits.getDefiningOp<MatmulOp>();
    if (!linear || linear.getType().getDimSize(1) <= cast<RankedTensorType>(linear.getLhs().getType()).getDimSize(1))
      return;
    OpBuilder builder(entropy->getContext());
    builder.setInsertionPointAfterValue(logits);
    Location loc = logits.getLoc();
    Value rounded = arith::TruncFOp::create(builder, loc, linear.getType().clone(element), logits);
    Value wide = arith::ExtFOp::create(builder, loc, logits.getType(), rounded);
    logits.replaceUsesWithIf(wide,
                             [](OpOperand &use) { return isa<CrossEntropyOp, CrossEntropyGradOp>(use.getOwner()); });
  }

  /// Replaces each matmul by three of bf16 operands.
  void splitOperands() {
    DenseMap<Value, std::pair<Value, Value>> known;
    auto split = [&](Value value) {
      auto [place, isNew] = known.try_emplace(value);
      if (!isNew)
        return place->second;
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfterValue(value);
      Location loc = value.getLoc();
      Type type = value.getType(), rounded = cast<RankedTensorType>(type).clone(builder.getBF16Type());
      Value high = arith::TruncFOp::create(builder, loc, rounded, value);
      Value rest = arith::SubFOp::create(builder, loc, value, arith::ExtFOp::create(builder, loc, type, high));
      return known[value] = {high, arith::TruncFOp::create(builder, loc, rounded, rest)};
    };
    SmallVector<MatmulOp> matmuls;
    getOperation().walk([&](MatmulOp matmul) {
      SmallVector<OpOperand *> operands = getProductOperands(matmul, Builder(&getContext()).getBF16Type());
      if (!operands.empty() &&
          llvm::all_of(operands, [](OpOperand *operand) { return getElementTypeOrSelf(operand->get()).isF32(); }))
        matmuls.push_back(matmul);
    });
    for (MatmulOp matmul : matmuls) {
      auto [leftHigh, leftLow] = split(matmul.getLhs());
      auto [rightHigh, rightLow] = split(matmul.getRhs());
      OpBuilder builder(matmul);
      auto multiply = [&](Value left, Value right) {
        auto product = cast<MatmulOp>(builder.clone(*matmul));
        product.getLhsMutable().assign(left);
        product.getRhsMutable().assign(right);
        return product.getResult();
      };
      Value small =
          arith::AddFOp::create(builder, matmul.getLoc(), multiply(leftHigh, rightLow), multiply(leftLow, rightHigh));
      Value sum = arith::AddFOp::create(builder, matmul.getLoc(), multiply(leftHigh, rightHigh), small);
      matmul.replaceAllUsesWith(sum);
      matmul.erase();
    }
  }

  /// Returns the 16-bit weight that an op widens to `value`, or null.
  static Value getStored(Value value) {
    auto widened = value.getDefiningOp<arith::ExtFOp>();
    return widened && isa_and_nonnull<ReadOp, JoinPanelsOp>(widened.getIn().getDefiningOp()) ? widened.getIn()
                                                                                             : Value();
  }

  /// Returns the delta that an attention's backward pass reads. It has to round the gradient as the pass does. Null if
  /// heads are so wide that the gradients of key and value are computed in f32.
  static AttentionDeltaOp getDelta(ProductOpInterface product) {
    Value delta;
    if (auto query = dyn_cast<AttentionGradQueryOp>(product.getOperation()))
      delta = query.getDelta();
    else if (auto keyValue = dyn_cast<AttentionGradKeyValueOp>(product.getOperation()))
      delta = keyValue.getDelta();
    constexpr int64_t results = 2; // the gradients of key and value
    bool rounds = delta && results * *product.getHeadWidth() <= kMostTensorFloatColumns;
    return rounds ? delta.getDefiningOp<AttentionDeltaOp>() : AttentionDeltaOp();
  }

  /// Returns the operands of a product that may be rounded to `element`, or multiplied as tf32 if it is null.
  SmallVector<OpOperand *> getProductOperands(ProductOpInterface product, Type element) {
    // Packed weights, and weights in another 16-bit type, are unpacked and multiplied in f32 as they are read.
    if (llvm::any_of(product.getProductOperands(), [&](OpOperand *operand) {
          Value stored = getStored(operand->get());
          return operand->get().getDefiningOp<DequantizeOp>() || (stored && getElementTypeOrSelf(stored) != element);
        }))
      return {};
    std::optional<int64_t> width = product.getHeadWidth();
    return width && !heads.has(*width) ? SmallVector<OpOperand *>() : product.getProductOperands();
  }

  HeadWidths heads;
};

} // namespace

std::unique_ptr<Pass> heddle::createSetPrecisionPass(Precision precision, HeadWidths heads) {
  return std::make_unique<SetPrecisionPass>(precision, heads);
}
