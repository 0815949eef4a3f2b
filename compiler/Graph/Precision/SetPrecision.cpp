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
        SmallVector<OpOperand *> operands = getProductOperands(product);
        if (!operands.empty() && getElementTypeOrSelf(operands.front()->get()).isF32())
          product->setAttr(kTensorFloatAttrName, builder.getUnitAttr());
      });
      return;
    }
    Type element = *precision == Precision::BF16 ? Type(builder.getBF16Type()) : Type(builder.getF16Type());
    DenseMap<Value, Value> rounded;
    getOperation().walk([&](ProductOpInterface product) {
      for (OpOperand *operand : getProductOperands(product)) {
        Value value = operand->get();
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
  }

private:
  /// Returns the operands of a product that may be rounded.
  SmallVector<OpOperand *> getProductOperands(ProductOpInterface product) {
    // Packed weights are unpacked and multiplied in f32 as they are read.
    if (llvm::any_of(product.getProductOperands(),
                     [](OpOperand *operand) { return operand->get().getDefiningOp<DequantizeOp>(); }))
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
