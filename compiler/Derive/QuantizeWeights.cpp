//   y = matmul x, read @w : T x K, K x N
//
// becomes, with groups of G along K (all of it is a group of 8 bits, where no other is asked for),
//
//   w = dequantize(read @w) scales(read @w.scales) : the packed K / 4 x N words of @w, K / G x N scales -> K x N
//   y = matmul x, w
#include "compiler/Derive/QuantizeWeights.h"
#include "compiler/Derive/Passes.h"

#include "compiler/Derive/EntryBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace mlir::heddle {
#define GEN_PASS_DEF_QUANTIZEWEIGHTSPASS
#include "compiler/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kDefaultGroup = 32; // of 4 bits
static constexpr int64_t kFewestRows = 8;    // that a matrix is worth packing for

llvm::Expected<WeightFormat> heddle::parseWeightFormat(StringRef text) {
  auto [name, number] = text.split(':');
  WeightFormat format;
  format.bits = name == "int8" ? 8 : name == "int4" ? 4 : 0;
  if (format.bits == 0)
    return llvm::createStringError("there is no format '" + name + "' of weights; there are int8 and int4");
  format.group = format.bits == 4 ? kDefaultGroup : 0;
  if (text.contains(':') && (number.getAsInteger(10, format.group) || format.group < 8 || format.group % 8 != 0))
    return llvm::createStringError("a group of weights has a multiple of 8 of them, as in " + name + ":32, got '" +
                                   number + "'");
  return format;
}

namespace {

class QuantizeWeightsPass : public mlir::heddle::impl::QuantizeWeightsPassBase<QuantizeWeightsPass> {
public:
  using Base::Base;
  QuantizeWeightsPass() = default;
  explicit QuantizeWeightsPass(WeightFormat format) : format(format) {}

  LogicalResult initialize(MLIRContext *context) override {
    if (text.empty())
      return success();
    llvm::Expected<WeightFormat> parsed = parseWeightFormat(text);
    if (!parsed)
      return emitError(UnknownLoc::get(context)) << "heddle-quantize-weights: " << llvm::toString(parsed.takeError());
    format = *parsed;
    return success();
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    bool hasFrozen = llvm::any_of(getOperation().getOps<VariableOp>(),
                                  [](VariableOp variable) { return variable.getKind() == VariableKind::Frozen; });
    llvm::MapVector<VariableOp, SmallVector<ReadOp>> reads;
    DenseSet<StringRef> others; // that are written, or that variables belong to or are views of: they stay as they are
    getOperation().walk([&](Operation *op) {
      if (auto read = dyn_cast<ReadOp>(op); read && read->getParentOfType<ModuleOp>() == getOperation())
        reads[symbols.lookup<VariableOp>(read.getVariable())].push_back(read);
      else if (auto write = dyn_cast<WriteOp>(op))
        others.insert(write.getVariable());
      else if (auto variable = dyn_cast<VariableOp>(op))
        others.insert_range(ArrayRef{variable.getOwner().value_or(""), variable.getStorage().value_or("")});
    });
    for (auto &[variable, ofVariable] : reads)
      if (variable.getKind() == (hasFrozen ? VariableKind::Frozen : VariableKind::Weight) && !variable.getStorage() &&
          !others.contains(variable.getSymName()))
        if (std::optional<int64_t> contracted = findContracted(variable, ofVariable))
          quantize(variable, *contracted, ofVariable, symbols);
  }

private:
  /// The dimension along which groups lie: that which products contract, or the columns of a table. Nothing where
  /// something else needs the matrix, or it is small.
  std::optional<int64_t> findContracted(VariableOp variable, ArrayRef<ReadOp> reads) const {
    RankedTensorType type = variable.getTensorType();
    if (type.getRank() != 2 || !type.getElementType().isF32() || type.getDimSize(0) < kFewestRows)
      return std::nullopt;
    std::optional<int64_t> contracted;
    for (ReadOp read : reads)
      for (OpOperand &use : read->getUses()) {
        auto product = dyn_cast<MatmulOp>(use.getOwner());
        auto rows = dyn_cast<EmbeddingOp>(use.getOwner());
        bool isUnpacked = product ? product.getLhs() != use.get() && !product.getTransposeLhs()
                                  : rows && rows.getTable() == use.get();
        if (!isUnpacked)
          return std::nullopt;
        if (product && !contracted)
          contracted = product.getTransposeRhs() ? 1 : 0;
      }
    return contracted.value_or(1);
  }

  void quantize(VariableOp variable, int64_t contracted, ArrayRef<ReadOp> reads, SymbolTable &symbols) {
    OpBuilder b(variable);
    b.setInsertionPointAfter(variable);
    RankedTensorType type = variable.getTensorType();
    SmallVector<int64_t> packed(type.getShape()), ofScales(type.getShape());
    packed[0] = llvm::divideCeil(packed[0], 32 / format.bits);
    // Where groups of this size do not fill the dimension, those of the largest size that does and divides it.
    ofScales[contracted] = format.group == 0 ? 1 : ofScales[contracted] / std::gcd(format.group, ofScales[contracted]);
    auto words = RankedTensorType::get(packed, b.getI32Type());
    variable.setType(words);
    variable.setStartAttr(StartAttr::get(b.getContext(), StartKind::Constant, b.getF64FloatAttr(0)));
    auto scales = VariableOp::create(b, variable.getLoc(), (variable.getSymName() + ".scales").str(),
                                     variable.getKind(), type.clone(ofScales),
                                     StartAttr::get(b.getContext(), StartKind::Constant, b.getF64FloatAttr(1)));
    scales.setRoleAttr(VariableRoleAttr::get(b.getContext(), VariableRole::Scales));
    scales.setOwnerAttr(FlatSymbolRefAttr::get(variable));
    symbols.insert(scales);
    for (ReadOp read : reads) {
      b.setInsertionPointAfter(read);
      read.getResult().setType(words);
      Value factors = ReadOp::create(b, read.getLoc(), scales.getTensorType(), FlatSymbolRefAttr::get(scales));
      auto unpacked = DequantizeOp::create(b, read.getLoc(), type, read, factors, format.bits);
      read.getResult().replaceAllUsesExcept(unpacked, unpacked);
    }
  }

  WeightFormat format;
};

} // namespace

std::unique_ptr<Pass> heddle::createQuantizeWeightsPass(WeightFormat format) {
  return std::make_unique<QuantizeWeightsPass>(format);
}
