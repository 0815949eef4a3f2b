// A value that is rounded for a matmul is read in the rounded form by other ops and by later calls, too.
//
// If other ops read it in f32, it is in memory twice:
//
//   r = truncf g                               r = truncf g
//   dw = matmul x^T, r                         dw = matmul x^T, r
//   db = sum rows g                     =>     db = sum rows (extf r)
//
// A bias is a row of the weight whose input is 1, so its gradient may be computed from the same rounded values as the
// weight's. The same holds for the dot products of attention's result and its gradient: both are matmul operands
// elsewhere. The rounded value also shows whether a ReLU let a number through: the next layer has read the rounded
// value.
//
// Weights that do not change for many calls are rounded once:
//
//   decode_step:  %w = read @w              =>     decode_step:  %r = read @cache.w.bf16
//                 %r = truncf %w                                 y = matmul x, %r
//                 y = matmul x, %r
//   train_step:   write @w, %new                   train_step:   write @w, %new
//                                                                write @cache.w.bf16, (truncf %new)
//
// Otherwise each decoding step, and each training step, would read all weights in 32 bits, write them and read them in
// 16, with one launch per weight. The update of a copy waits for the last matmul that reads the copy. The copy is a
// cache, which no checkpoint holds. After weights are written from outside, the session runs `round_weights`.
#include "compiler/Graph/Precision/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/schema/Constants.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_SHAREROUNDEDPASS
#include "compiler/Graph/Precision/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// The entry that writes the rounded copies of all weights. The runtime looks for it by this name.
constexpr StringRef kRoundEntry = ::heddle::schema::kRoundEntry;

/// Returns true if the op compares with zero. Rounding keeps a number's sign, and only the smallest numbers become
/// zero.
bool isComparisonWithZero(Operation *op) {
  auto comparison = dyn_cast<arith::CmpFOp>(op);
  auto fill = comparison ? comparison.getRhs().getDefiningOp<FillOp>() : FillOp();
  auto value = fill ? dyn_cast<FloatAttr>(fill.getValue()) : FloatAttr();
  return value && value.getValue().isZero();
}

bool mayReadRounded(Operation *op) {
  if (auto sum = dyn_cast<SumOp>(op))
    return !sum.getColumns();
  return isa<AttentionDeltaOp>(op) || isComparisonWithZero(op);
}

class ShareRoundedPass : public mlir::heddle::impl::ShareRoundedPassBase<ShareRoundedPass> {
public:
  void runOnOperation() override {
    getOperation().walk(readRounded);
    SymbolTable symbols(getOperation());
    llvm::MapVector<VariableOp, SmallVector<arith::TruncFOp>> roundings = findRoundings(symbols);
    if (roundings.empty())
      return;
    if (auto other = symbols.lookup(kRoundEntry)) {
      other->emitError() << "'" << kRoundEntry << "' is the name of the entry that rounds weights; "
                         << "give this entry another name";
      return signalPassFailure();
    }
    for (auto &[variable, ops] : roundings) {
      auto type = cast<RankedTensorType>(ops.front().getType());
      VariableOp copy = addCopy(variable, type.getElementType(), symbols);
      for (arith::TruncFOp rounding : ops)
        read(rounding, copy);
      copies.emplace_back(variable, copy);
    }
    getOperation().walk([&](WriteOp write) { rewrite(write); });
    addEntry();
    copies.clear();
  }

private:
  static void readRounded(arith::TruncFOp rounding) {
    if (isa<RankedTensorType>(rounding.getType()))
      for (OpOperand &use : llvm::make_early_inc_range(rounding.getIn().getUses()))
        if (mayReadRounded(use.getOwner()) && rounding->isBeforeInBlock(use.getOwner())) {
          OpBuilder builder(use.getOwner());
          use.set(arith::ExtFOp::create(builder, rounding.getLoc(), use.get().getType(), rounding.getOut()));
        }
  }

  /// Finds the roundings of weights that are stored by themselves, before an entry writes them.
  llvm::MapVector<VariableOp, SmallVector<arith::TruncFOp>> findRoundings(SymbolTable &symbols) {
    DenseSet<StringAttr> storages;
    for (auto variable : getOperation().getOps<VariableOp>())
      if (variable.getStorageAttr())
        storages.insert(variable.getStorageAttr().getAttr());
    llvm::MapVector<VariableOp, SmallVector<arith::TruncFOp>> roundings;
    getOperation().walk([&](arith::TruncFOp rounding) {
      auto read = rounding.getIn().getDefiningOp<ReadOp>();
      auto variable = read ? symbols.lookup<VariableOp>(read.getVariable()) : VariableOp();
      if (!variable || !variable.isWeight() || variable.getStorageAttr() ||
          storages.contains(variable.getSymNameAttr()) || isWrittenBefore(read))
        return;
      SmallVector<arith::TruncFOp> &others = roundings[variable];
      // Two 16-bit values share one word of the variable.
      bool fits = variable.getTensorType().getShape().back() % 2 == 0;
      if (fits && (others.empty() || others.front().getType() == rounding.getType()))
        others.push_back(rounding);
    });
    roundings.remove_if([](auto &entry) { return entry.second.empty(); });
    return roundings;
  }

  static bool isWrittenBefore(ReadOp read) {
    return llvm::any_of(read->getBlock()->getOps<WriteOp>(), [&](WriteOp write) {
      return write.getVariable() == read.getVariable() && write->isBeforeInBlock(read);
    });
  }

  static VariableOp addCopy(VariableOp variable, Type element, SymbolTable &symbols) {
    OpBuilder builder(variable->getContext());
    std::string name;
    llvm::raw_string_ostream(name) << "cache." << variable.getSymName() << '.' << element;
    auto copy = VariableOp::create(builder, variable.getLoc(), name, VariableKind::Cache,
                                   cast<RankedTensorType>(variable.getTensorType().clone(element)), StartAttr(),
                                   FlatSymbolRefAttr::get(variable),
                                   VariableRoleAttr::get(variable.getContext(), VariableRole::Rounded));
    symbols.insert(copy, std::next(variable->getIterator()));
    return copy;
  }

  static Value readOf(OpBuilder &builder, Location loc, VariableOp variable) {
    return ReadOp::create(builder, loc, variable.getTensorType(), FlatSymbolRefAttr::get(variable));
  }

  static void read(arith::TruncFOp rounding, VariableOp copy) {
    OpBuilder builder(rounding);
    rounding.getOut().replaceAllUsesWith(readOf(builder, rounding.getLoc(), copy));
    auto whole = rounding.getIn().getDefiningOp<ReadOp>();
    rounding.erase();
    if (whole->use_empty())
      whole.erase();
  }

  /// Writes the rounded copy wherever an entry writes the weight. The new value is rounded where it is computed.
  void rewrite(WriteOp write) {
    for (auto [variable, copy] : copies)
      if (write.getVariable() == VariableOp(variable).getSymName()) {
        OpBuilder builder(write);
        builder.setInsertionPointAfterValue(write.getValue());
        Value rounded = round(builder, write.getLoc(), write.getValue(), copy);
        builder.setInsertionPointAfter(write);
        WriteOp::create(builder, write.getLoc(), FlatSymbolRefAttr::get(copy), rounded);
      }
  }

  static Value round(OpBuilder &builder, Location loc, Value value, VariableOp copy) {
    return arith::TruncFOp::create(builder, loc, copy.getTensorType(), value);
  }

  void addEntry() {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    Location loc = NameLoc::get(builder.getStringAttr("rounding of weights"), getOperation().getLoc());
    auto entry = func::FuncOp::create(builder, loc, kRoundEntry, builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(entry.addEntryBlock());
    for (auto [variable, copy] : copies) {
      Value rounded = round(builder, loc, readOf(builder, loc, variable), copy);
      WriteOp::create(builder, loc, FlatSymbolRefAttr::get(copy), rounded);
    }
    func::ReturnOp::create(builder, loc);
  }

  SmallVector<std::pair<VariableOp, VariableOp>> copies; // pairs of a weight and its copy
};

} // namespace
