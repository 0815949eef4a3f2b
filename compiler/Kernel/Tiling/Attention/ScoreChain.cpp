#include "compiler/Kernel/Tiling/Attention/ScoreChain.h"

#include "compiler/Kernel/Tiling/Frames/RowSoftmax.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

/// The length of a row of scores for which every target has shared memory.
static constexpr int64_t kMostKeys = 2048;

/// Returns true if two values are equal. Iotas and fills are created anew at each use, so they are compared by content.
static bool isSame(Value a, Value b) {
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return a == b || (isa_and_nonnull<IotaOp, FillOp>(x) && y &&
                    OperationEquivalence::isEquivalentTo(x, y, OperationEquivalence::IgnoreLocations));
}

std::optional<ScoreChain> ScoreChain::of(Value pairs) {
  BackwardSliceOptions options;
  options.inclusive = options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == pairs.getParentBlock() &&
           (isElementwise(op) || isa<ScoresOp, SoftmaxOp, SoftmaxGradOp>(op));
  };
  SetVector<Operation *> slice; // producers come before users
  if (failed(getBackwardSlice(pairs, &slice, options)))
    return {};
  ScoreChain chain;
  chain.pairs = pairs;
  auto reads = [](Operation *op, const auto &ops) {
    return llvm::any_of(op->getOperands(), [&](Value operand) { return ops.contains(operand.getDefiningOp()); });
  };
  for (Operation *op : slice) {
    auto scores = dyn_cast<ScoresOp>(op);
    bool isWeights = isa<SoftmaxOp, SoftmaxGradOp>(op);
    if (!scores && !reads(op, chain.ops))
      continue;
    if ((scores && chain.scores) || (isWeights && chain.weights))
      return {};
    chain.ops.insert(op);
    if (scores)
      chain.scores = scores;
    if (isWeights)
      chain.weights = op;
    if (isWeights || reads(op, chain.afterWeights))
      chain.afterWeights.insert(op);
  }
  return chain.weights ? std::optional(chain) : std::nullopt;
}

bool ScoreChain::readsInOrder(Operation *op) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return !ops.contains(producer) ||
           (op == weights ? operand == input() : afterWeights.contains(op) == afterWeights.contains(producer));
  });
}

SmallVector<Operation *> ScoreChain::opsOf(Operation *anchor, const Attention &attention, Value pairs) {
  std::optional<ScoreChain> chain = of(pairs);
  if (!chain)
    return {};
  constexpr unsigned sequences = 4; // starts and lengths of queries and keys, the last operands of ops on pairs
  auto softmax = dyn_cast<SoftmaxOp>(chain->weights);
  auto mask = chain->input().getDefiningOp<MaskOp>();
  // The weights of missing keys must be zero.
  bool isMasked = !softmax || (mask && mask.getValue().isInfinity() && mask.getValue().isNegative());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(pairs.getType()).getShape();
  bool isOfTheSame = llvm::all_of_zip(chain->scores->getOperands().take_back(sequences),
                                      anchor->getOperands().take_back(sequences), isSame) &&
                     chain->scores.getKeyRows() == attention.keyRows;
  bool areLone = chain->scores.getQuerySize().empty() && attention.querySize.empty();
  if (!isMasked || !isOfTheSame || !areLone || (softmax && softmax.getSink()) || attention.pairKeys > kMostKeys)
    return {};
  SetVector<Operation *> all = chain->ops;
  for (Operation *op : chain->ops) {
    if (op->getNumResults() != 1 || cast<RankedTensorType>(op->getResult(0).getType()).getShape() != shape ||
        !chain->readsInOrder(op))
      return {};
    bool isAfter = chain->afterWeights.contains(op);
    for (Operation *user : op->getUsers()) {
      if (isAfter && isa<InsertRowsOp>(user) && user->getOperand(0) == op->getResult(0))
        all.insert(user);
      else if (!chain->ops.contains(user) && user != anchor && !(isAfter && anchor->isBeforeInBlock(user)))
        return {};
    }
  }
  return all.takeVector();
}

/// The row holds the weights' input, and then the numbers. Lanes have adjacent keys.
Value ScoreChain::emitRow(PairsFrame &frame, LogicalResult &finished) const {
  KernelEmitter &emitter = frame.emitter;
  auto &b = frame.b;
  auto grad = dyn_cast<SoftmaxGradOp>(weights);
  int64_t room = frame.attention.pairKeys, lanes = frame.lanes;
  Value none = emitter.index(0);
  Value row = emitter.sharedTile(emitter.tileType(1, llvm::alignTo(room, lanes)));
  auto keep = [&](Value tile, Value key) { tile::StoreOp::create(b, tile, row, none, key); };
  auto wide = [&](Value tile) { return emitter.broadcast(tile, 1, lanes); };
  auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
  auto walk = [&](Value end, ValueRange state, function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    return emitter.loop(none, end, lanes, room, state, body);
  };

  // Reads past the last key return the last key's element, or this zero if there are no keys.
  keep(emitter.constant(1, lanes, 0), none);

  RowSoftmax softmax(emitter, 1);
  SmallVector<Value> begin = grad ? SmallVector<Value>{emitter.constant(1, 1, 0)} : softmax.begin();
  SmallVector<Value> totals = walk(frame.otherLength, begin, [&](Value key, ValueRange state) -> SmallVector<Value> {
    Place place = frame.pairs(key);
    emitter.define(scores->getResult(0), place, frame.scores(scores, key));
    Value element = emitter.evaluate(input(), place);
    if (!grad)
      element = softmax.raise(element);
    keep(element, key);
    if (!grad)
      return softmax.add(state, element);
    Value part = frame.whereBelow(mul(emitter.evaluate(grad.getOutput(), place), element), key, 1, frame.otherLength);
    return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, part, 1))};
  });
  tile::WaitOp::create(b, 0);
  Value scale = grad ? Value() : softmax.scale(totals);

  // In memory, missing keys need their numbers, too.
  bool isStored = emitter.hasResultOn(cast<RankedTensorType>(pairs.getType()));
  walk(isStored ? emitter.index(room) : frame.otherLength, {}, [&](Value key, ValueRange) -> SmallVector<Value> {
    Place place = frame.pairs(key);
    Value element = emitter.load(row, {none, key, 1, lanes, {}, frame.otherLength});
    Value weight =
        grad ? mul(emitter.evaluate(grad.getOutput(), place), arith::SubFOp::create(b, element, wide(totals[0])))
             : mul(softmax.power(element, totals[0]), wide(scale));
    emitter.define(weights->getResult(0), place, frame.whereBelow(weight, key, 1, frame.otherLength));
    finished = emitter.finish(cast<RankedTensorType>(pairs.getType()), place);
    keep(emitter.evaluate(pairs, place), key);
    return {};
  });
  tile::WaitOp::create(b, 0);
  return row;
}
