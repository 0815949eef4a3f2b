// A decoding step reads the keys and values of all previous tokens. In 16 bits they take half the memory and half the
// time:
//
//   %old = read @cache.key                          %old = read @cache.key                       : tensor<1024x192xf16>
//   %new = scatter_rows %old, %at, %rows            %new = scatter_rows %old, %at, (truncf %rows)
//   write @cache.key, %new                    =>    write @cache.key, %new
//   attention %query, %new, ...                     attention %query, %new, ...
//
// Attention of a lone query multiplies in f32, whatever the type of its keys, so queries stay as they are.
#include "compiler/Analysis/Profile/Precision.h"
#include "compiler/Graph/Precision/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_ROUNDCACHESPASS
#include "compiler/Graph/Precision/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The ops that use a cache: its value in an entry, with or without new rows.
struct Uses {
  SmallVector<ReadOp> reads;
  SmallVector<ScatterRowsOp> scatters;
  SmallVector<WriteOp> writes;
  bool isOfAttention = false; // it is the keys or values of fused attention
  bool hasOthers = false;
};

bool isKeyOrValue(OpOperand &use) {
  auto attention = dyn_cast<AttentionOp>(use.getOwner());
  return attention && attention.getQuerySize().empty() &&
         (&use == &attention.getKeyMutable() || &use == &attention.getValueMutable());
}

class RoundCachesPass : public mlir::heddle::impl::RoundCachesPassBase<RoundCachesPass> {
public:
  using Base::Base;

  void runOnOperation() override {
    std::optional<Precision> precision = parsePrecision(format);
    if (precision != Precision::F16 && precision != Precision::BF16) {
      getOperation().emitError() << "caches are rounded to f16 or bf16, not to '" << format << "'";
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    Type element = *precision == Precision::F16 ? Type(builder.getF16Type()) : Type(builder.getBF16Type());
    DenseMap<StringAttr, Uses> uses;
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op))
        collect(read, uses[read.getVariableAttr().getAttr()]);
      else if (auto write = dyn_cast<WriteOp>(op))
        uses[write.getVariableAttr().getAttr()].writes.push_back(write);
    });
    bool any = false;
    for (auto variable : getOperation().getOps<VariableOp>())
      if (Uses &ofVariable = uses[variable.getSymNameAttr()]; isRoundable(variable, ofVariable)) {
        round(variable, ofVariable, element);
        any = true;
      }
    if (any)
      return;
    getOperation().emitError() << "no cache can be kept in " << element
                               << ": that takes fused attention to the tokens before, "
                               << "whose keys have an even number of columns";
    signalPassFailure();
  }

private:
  static void collect(ReadOp read, Uses &uses) {
    uses.reads.push_back(read);
    SmallVector<Value> values{read.getResult()};
    while (!values.empty()) {
      Value value = values.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        auto scatter = dyn_cast<ScatterRowsOp>(user);
        auto write = dyn_cast<WriteOp>(user);
        if (scatter && use.get() == scatter.getDestination()) {
          uses.scatters.push_back(scatter);
          values.push_back(scatter.getResult());
        } else if (isKeyOrValue(use)) {
          uses.isOfAttention = true;
        } else if (!write || write.getVariable() != read.getVariable()) {
          uses.hasOthers = true;
        }
      }
    }
  }

  /// Returns true if the cache can be rounded. Its rows must have even lengths: two 16-bit numbers are one word.
  static bool isRoundable(VariableOp variable, const Uses &uses) {
    RankedTensorType type = variable.getTensorType();
    return variable.getKind() == VariableKind::Cache && type.getElementType().isF32() &&
           type.getShape().back() % 2 == 0 && uses.isOfAttention && !uses.hasOthers;
  }

  static void round(VariableOp variable, Uses &uses, Type element) {
    RankedTensorType type = cast<RankedTensorType>(variable.getTensorType().clone(element));
    variable.setType(type);
    for (ReadOp read : uses.reads)
      read.getResult().setType(type);
    auto round = [&](OpOperand &operand) {
      OpBuilder builder(operand.getOwner());
      auto rounded = cast<RankedTensorType>(operand.get().getType()).clone(element);
      operand.set(arith::TruncFOp::create(builder, operand.getOwner()->getLoc(), rounded, operand.get()));
    };
    for (ScatterRowsOp scatter : uses.scatters) {
      round(scatter.getRowsMutable());
      scatter.getResult().setType(type);
    }
    for (WriteOp write : uses.writes) // initial values only
      if (write.getValue().getType() != type)
        round(write.getValueMutable());
  }
};

} // namespace
