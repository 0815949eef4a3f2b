// The weights of every attention (section 3.2.1), for as many keys at once as a head is wide. The weights are never in
// memory, but attention to one-hot values returns them: if the value of the key in slot i has a 1 in column i of each
// head, column i of a head of softmax(Q K^T) V is that key's weight. A key whose slot is the head's width has no
// column.
#include "compiler/Graph/Derive/Passes.h"

#include "compiler/Graph/Derive/EntryBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSet.h"

#include <map>

namespace mlir::heddle {
#define GEN_PASS_DEF_DERIVEEXPLANATIONPASS
#include "compiler/Graph/Derive/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

class DeriveExplanationPass : public mlir::heddle::impl::DeriveExplanationPassBase<DeriveExplanationPass> {
public:
  void runOnOperation() override {
    ModelFunctions model(getOperation());
    if (!model.task || !model.task.getExplain())
      return;
    if (failed(model.verify(StringRef("explain"))))
      return signalPassFailure();
    oneHots.clear();
    names.clear();
    slotPorts.clear();
    EntryBuilder entry(getOperation(), "explain", model.task.getLoc());
    for (func::FuncOp function :
         {model.memory, model.hidden, model.memory || !model.hidden ? model.logits : func::FuncOp()})
      if (function)
        entry.inlineFunction(function);
    Block *body = entry.builder.getInsertionBlock();
    for (auto context : llvm::to_vector(body->getOps<ContextOp>())) {
      // The clone has its own scores and softmax, so that it can be fused like the attention itself.
      entry.builder.setInsertionPointAfter(context);
      IRMapping mapping;
      auto attention = cast<ContextOp>(cloneAttention(entry.builder, context, mapping));
      attention.getValueMutable().set(oneHot(entry, context)); // only the values: keys may be the same rows
      entry.output(nameOf(context), attention.getResult());
    }
    for (auto scan : llvm::to_vector(body->getOps<ScanOp>()))
      explainScan(entry, scan);
    entry.builder.setInsertionPointToEnd(body);
    entry.finish();
  }

private:
  /// Returns "source" or "target", or "source_sentences" for the sentences of a text.
  static StringRef sideOf(RankedTensorType rows) {
    StringRef size = getSizeName(rows, 0);
    size.consume_back("_tokens");
    return size;
  }

  /// Returns `weights`, the side of the keys, and the attention's path, joined by dots. The path of a context ends in
  /// the name of its line's result, which is dropped: `decoder.0.self.output`.
  std::string nameOf(ContextOp context) {
    StringRef side = sideOf(cast<RankedTensorType>(context.getValue().getType()));
    std::string name = ("weights." + side + "." + getPath(context.getLoc()).rsplit('.').first).str(), base = name;
    for (int i = 2; !names.insert(name).second; ++i)
      name = base + "_" + std::to_string(i);
    return name;
  }

  /// Replaces a scan with attention by the same scan with the weights of its attentions as further outputs.
  void explainScan(EntryBuilder &entry, ScanOp scan) {
    SmallVector<ContextOp> contexts = llvm::to_vector(scan.getBody().front().getOps<ContextOp>());
    if (contexts.empty())
      return;
    SmallVector<Value> constants(scan.getConstants());
    SmallVector<Type> types(scan.getResultTypes());
    for (ContextOp context : contexts) {
      constants.push_back(oneHot(entry, context));
      types.push_back(scan.getTokenType(context.getType()));
    }
    entry.builder.setInsertionPointAfter(scan);
    auto explained = ScanOp::create(entry.builder, scan.getLoc(), types, scan.getRows(), scan.getStates(), constants,
                                    scan.getStarts(), scan.getLengths(), scan.getRowSizeAttr(), scan.getStepAttr(),
                                    scan.getReverseAttr());
    explained.getBody().takeBody(scan.getBody());
    Block &block = explained.getBody().front();
    for (auto [i, context] : llvm::enumerate(contexts)) {
      IRMapping mapping;
      mapping.map(context.getValue(),
                  block.addArgument(constants[scan.getConstants().size() + i].getType(), context.getLoc()));
      OpBuilder after(context->getBlock(), std::next(context->getIterator()));
      block.getTerminator()->insertOperands(block.getTerminator()->getNumOperands(),
                                            after.clone(*context, mapping)->getResult(0));
      entry.output(nameOf(context), explained.getResult(scan.getNumResults() + i));
    }
    for (auto [old, same] : llvm::zip_first(scan.getResults(), explained.getResults()))
      old.replaceAllUsesWith(same);
    scan.erase();
  }

  /// Clones `op` together with the ops that compute its scores and the indices of its queries.
  static Operation *cloneAttention(OpBuilder &builder, Operation *op, IRMapping &mapping) {
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      bool isOfPairs = type && type.getRank() == 3;
      if (source && !mapping.contains(operand) && (isOfPairs || isa<LocateOp>(source)))
        cloneAttention(builder, source, mapping);
    }
    return builder.clone(*op, mapping);
  }

  /// Returns the name of the input that gives, for each token of a side, the column of a head for its weight. In a
  /// graph, the input `source_slots` already exists: it belongs to the lists of neighbours.
  std::string slotsOf(EntryBuilder &entry, StringRef side) {
    auto [known, isNew] = slotPorts.try_emplace(side);
    if (isNew)
      known->second = (side + (entry.hasPort((side + "_slots").str()) ? "_key_slots" : "_slots")).str();
    return known->second;
  }

  /// Returns one-hot values: for each key a 1 in one column of each head. An input gives the column.
  Value oneHot(EntryBuilder &entry, ContextOp context) {
    auto type = cast<RankedTensorType>(context.getValue().getType());
    int64_t heads = cast<RankedTensorType>(context.getWeights().getType()).getDimSize(1);
    int64_t width = cast<RankedTensorType>(context.getType()).getDimSize(1) / heads; // of value heads, too
    StringRef tokens = getSizeName(type, 0), side = sideOf(type);
    Value &known = oneHots[{tokens.str(), width}];
    if (known)
      return known;
    OpBuilder &b = entry.builder;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(b.getInsertionBlock());
    Location where = context.getLoc();
    Value slots = entry.port(slotsOf(entry, side), columnOf(&getContext(), tokens, b.getI32Type()), width + 1);
    auto indices = RankedTensorType::get(type.getShape(), b.getI32Type(), type.getEncoding());
    auto row = RankedTensorType::get({type.getDimSize(1)}, b.getI32Type());
    Value columns = BroadcastOp::create(b, where, indices, IotaOp::create(b, where, row, 0));
    Value widths = FillOp::create(b, where, indices, b.getI32IntegerAttr(static_cast<int32_t>(width)));
    Value ofHead = arith::RemUIOp::create(b, where, columns, widths);
    Value isItsOwn = arith::CmpIOp::create(b, where, arith::CmpIPredicate::eq, ofHead,
                                           BroadcastOp::create(b, where, indices, slots));
    Value one = FillOp::create(b, where, type, b.getF32FloatAttr(1)),
          zero = FillOp::create(b, where, type, b.getF32FloatAttr(0));
    return known = arith::SelectOp::create(b, where, isItsOwn, one, zero);
  }

  std::map<std::pair<std::string, int64_t>, Value> oneHots;
  llvm::StringMap<std::string> slotPorts; // by side
  llvm::StringSet<> names;
};

} // namespace
