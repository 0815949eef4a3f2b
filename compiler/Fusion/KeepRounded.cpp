// Weights that stay as they are for many calls are rounded once:
//
//   decode_step:  %w = read @w              =>     decode_step:  %r = read @cache.w.bf16
//                 %r = truncf %w                                 y = matmul x, %r
//                 y = matmul x, %r
//   train_step:   write @w, %new                   train_step:   write @w, %new
//                                                                write @cache.w.bf16, (truncf %new)
//
// A step of decoding would otherwise read all weights in 32 bits, write and read them in 16, by a launch for each. An
// entry that updates a weight does round it anew: its update would have to wait for the last product that reads the
// copy, and could not run beside it. The copy is a cache, which no checkpoint holds; whoever writes weights runs
// `round_weights` then, which the session does.
#include "compiler/Fusion/KeepRounded.h"
#include "compiler/Fusion/Passes.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_KEEPROUNDEDPASS
#include "compiler/Fusion/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class KeepRoundedPass : public mlir::heddle::impl::KeepRoundedPassBase<KeepRoundedPass> {
public:
  void runOnOperation() override {
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
  /// Of weights that are stored by themselves, in entries that leave them as they are.
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
          storages.contains(variable.getSymNameAttr()) || isWritten(rounding->getBlock(), read.getVariable()))
        return;
      SmallVector<arith::TruncFOp> &others = roundings[variable];
      // Two 16-bit values are one word of the variable.
      bool fits = variable.getTensorType().getShape().back() % 2 == 0;
      if (fits && (others.empty() || others.front().getType() == rounding.getType()))
        others.push_back(rounding);
    });
    roundings.remove_if([](auto &entry) { return entry.second.empty(); });
    return roundings;
  }

  static bool isWritten(Block *block, StringRef variable) {
    return llvm::any_of(block->getOps<WriteOp>(), [&](WriteOp write) { return write.getVariable() == variable; });
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

  /// A weight's new value is rounded where it is made.
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

  SmallVector<std::pair<VariableOp, VariableOp>> copies; // of variables
};

} // namespace
