#include "compiler/Fusion/SetPrecision.h"

#include "compiler/Kernels/Fragments.h"
#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

struct SetPrecisionPass : PassWrapper<SetPrecisionPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SetPrecisionPass)

  SetPrecisionPass() = default;
  SetPrecisionPass(const SetPrecisionPass &other) : PassWrapper(other), heads(other.heads) {}

  StringRef getArgument() const override { return "heddle-set-precision"; }
  StringRef getDescription() const override { return "Round the factors of matrix products to fewer bits"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<arith::ArithDialect>(); }

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
        SmallVector<OpOperand *> factors = getFactors(product);
        if (!factors.empty() && getElementTypeOrSelf(factors.front()->get()).isF32())
          product->setAttr(kTensorFloatAttrName, builder.getUnitAttr());
      });
      return;
    }
    Type element = *precision == Precision::BF16 ? Type(builder.getBF16Type()) : Type(builder.getF16Type());
    DenseMap<Value, Value> rounded;
    getOperation().walk([&](ProductOpInterface product) {
      for (OpOperand *factor : getFactors(product)) {
        Value value = factor->get();
        auto type = cast<RankedTensorType>(value.getType());
        if (!type.getElementType().isF32())
          continue;
        Value &result = rounded[value];
        if (!result) {
          builder.setInsertionPointAfterValue(value);
          result = arith::TruncFOp::create(builder, value.getLoc(), type.clone(element), value);
        }
        factor->set(result);
      }
    });
  }

private:
  /// Those that may be rounded.
  SmallVector<OpOperand *> getFactors(ProductOpInterface product) {
    // Weights that are unpacked where they are read are multiplied there, in f32.
    if (llvm::any_of(product.getFactors(),
                     [](OpOperand *factor) { return factor->get().getDefiningOp<DequantizeOp>(); }))
      return {};
    std::optional<int64_t> width = product.getHeadWidth();
    return width && !heads.has(*width) ? SmallVector<OpOperand *>() : product.getFactors();
  }

  HeadWidths heads;
  Option<std::string> name{*this, "precision", llvm::cl::init("bf16"), llvm::cl::desc("f32, bf16, f16 or tf32")};
  friend std::unique_ptr<Pass> heddle::createSetPrecisionPass(Precision, HeadWidths);
};

} // namespace

std::unique_ptr<Pass> heddle::createSetPrecisionPass(Precision precision, HeadWidths heads) {
  auto pass = std::make_unique<SetPrecisionPass>();
  pass->heads = heads;
  pass->name = toString(precision).str();
  return pass;
}
void heddle::registerSetPrecisionPass() { PassRegistration<SetPrecisionPass>(); }
