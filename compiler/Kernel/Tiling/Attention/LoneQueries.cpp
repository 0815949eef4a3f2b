// Attention of queries that are alone in their sequences, as a decoder's are in a step of a recurrence, in one kernel.
// A workgroup has a query of one head. It computes the query's scores, turns them into weights, and sums up. The row of
// scores is in shared memory. Lanes have adjacent keys until the weights are computed, and adjacent columns afterwards.
//
//   forward                                 backward (P: the weights)
//   s = scores(query, keys)                 g = scores(gradient of the context, values)
//   p = softmax(mask(s))                    d = P * (g - sum of P * g)
//   context = sum of p * values             gradient of the query = sum of d * slope(query, keys)
#include "compiler/Kernel/Tiling/Attention/Pairs.h"

#include "dialects/Heddle/Heddle.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::heddle;

/// The length of a row of scores for which every target has shared memory.
static constexpr int64_t kMostKeys = 2048;

/// Lower than any score. The difference of two such values is still finite.
static constexpr double kLowest = -1e30;

/// Returns true if two values are equal. Iotas and fills are created anew at each use, so they are compared by content.
static bool isSame(Value a, Value b) {
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return a == b || (isa_and_nonnull<IotaOp, FillOp>(x) && y &&
                    OperationEquivalence::isEquivalentTo(x, y, OperationEquivalence::IgnoreLocations));
}

namespace {

/// The ops that compute an anchor's numbers of pairs from scores.
class Chain {
public:
  SetVector<Operation *> ops;         // in an order in which they can be computed
  DenseSet<Operation *> afterWeights; // ops that use the weights or compute them
  ScoresOp scores;
  Operation *weights = nullptr; // softmax or its gradient
  bool isSingle = true;         // there is one scores op and one weights op

  explicit Chain(Value pairs) : block(pairs.getParentBlock()) {
    follow(pairs.getDefiningOp());
    for (Operation *op : ops)
      if (op == weights || llvm::any_of(op->getOperands(),
                                        [&](Value operand) { return afterWeights.contains(operand.getDefiningOp()); }))
        afterWeights.insert(op);
  }

  /// The value, computed from the scores, that softmax or its gradient reads.
  Value input() const {
    auto grad = dyn_cast<SoftmaxGradOp>(weights);
    return grad ? grad.getGradient() : weights->getOperand(0);
  }

private:
  /// Returns true if `op` depends on scores of the block. Then `ops` contains it and all ops in between.
  bool follow(Operation *op) {
    if (!op || op->getBlock() != block || !(isElementwise(op) || isa<ScoresOp, SoftmaxOp, SoftmaxGradOp>(op)))
      return false;
    auto [known, isNew] = depends.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool found = isa<ScoresOp>(op);
    if (!found)
      for (Value operand : op->getOperands())
        found |= follow(operand.getDefiningOp());
    depends[op] = found;
    if (!found)
      return false;
    if (auto some = dyn_cast<ScoresOp>(op)) {
      isSingle &= !scores;
      scores = some;
    } else if (!isElementwise(op)) {
      isSingle &= !weights;
      weights = op;
    }
    ops.insert(op);
    return true;
  }

  Block *block;
  DenseMap<Operation *, bool> depends; // whether a visited op depends on scores
};

template <typename A, typename B> bool areOfTheSameSequences(A a, B b) {
  return isSame(a.getQueryStarts(), b.getQueryStarts()) && isSame(a.getQueryLengths(), b.getQueryLengths()) &&
         isSame(a.getKeyStarts(), b.getKeyStarts()) && isSame(a.getKeyLengths(), b.getKeyLengths()) &&
         a.getKeyRows() == b.getKeyRows() && a.getQuerySize().empty() && b.getQuerySize().empty();
}

/// Returns true if the weights past the last key are zero in any case.
bool hidesMissingKeys(const Chain &chain) {
  if (isa<SoftmaxGradOp>(chain.weights))
    return true;
  auto mask = chain.input().getDefiningOp<MaskOp>();
  return mask && mask.getValue().isInfinity() && mask.getValue().isNegative();
}

} // namespace

SmallVector<Operation *> heddle::getLoneQueryChain(Operation *anchor, Value pairs) {
  Chain chain(pairs);
  auto softmax = dyn_cast_or_null<SoftmaxOp>(chain.weights);
  if (!chain.scores || !chain.weights || !chain.isSingle || !hidesMissingKeys(chain) ||
      (softmax && softmax.getSink()) || cast<RankedTensorType>(pairs.getType()).getDimSize(2) > kMostKeys)
    return {};
  bool isAligned = isa<ContextOp>(anchor) ? areOfTheSameSequences(chain.scores, cast<ContextOp>(anchor))
                                          : areOfTheSameSequences(chain.scores, cast<ScoresGradQueryOp>(anchor));
  if (!isAligned)
    return {};
  SetVector<Operation *> all = chain.ops;
  for (Operation *op : chain.ops) {
    if (cast<RankedTensorType>(op->getResult(0).getType()).getShape() != chain.scores.getType().getShape() ||
        op->getNumResults() != 1)
      return {};
    bool isAfter = chain.afterWeights.contains(op);
    // The weights overwrite the scores, so later ops cannot read scores.
    for (Value operand : op->getOperands())
      if (op != chain.weights ? isAfter && chain.ops.contains(operand.getDefiningOp()) &&
                                    !chain.afterWeights.contains(operand.getDefiningOp())
                              : operand != chain.input() && chain.ops.contains(operand.getDefiningOp()))
        return {};
    for (Operation *user : op->getUsers()) {
      if (isAfter && isa<InsertRowsOp>(user) && user->getOperand(0) == op->getResult(0))
        all.insert(user);
      else if (!chain.ops.contains(user) && user != anchor && !(isAfter && anchor->isBeforeInBlock(user)))
        return {};
    }
  }
  return all.takeVector();
}

LogicalResult heddle::emitLoneQueries(Operation *anchor, const Attention &attention, Value pairs, ValueRange parameters,
                                      Region *region, KernelEmitter &emitter) {
  auto &b = emitter.builder();
  Chain chain(pairs);
  if (!chain.scores || !chain.weights) { // other ops compute the numbers of pairs in memory
    (void)emitter.memoryOf(pairs);
    return failure();
  }
  auto grad = dyn_cast<SoftmaxGradOp>(chain.weights);
  int64_t room = attention.pairKeys, width = attention.width();
  bool isStored = llvm::any_of(anchor->getBlock()->getTerminator()->getOperandTypes(), [&](Type type) {
    return cast<RankedTensorType>(type).getShape().drop_front() == chain.scores.getType().getShape().drop_front();
  });
  Value result = anchor->getResult(0);
  PairsFrame frame(emitter, attention, /*ownsQueries=*/true);
  LogicalResult finished = success();
  frame.emit({room, width}, /*whole=*/true, [&] {
    int64_t lanes = frame.lanes;
    Value none = emitter.index(0);
    Value row = emitter.sharedTile(emitter.tileType(1, llvm::alignTo(room, lanes)));
    auto ofRow = [&](Value key, int64_t keys, Value limit) { return Place{none, key, 1, keys, {}, limit}; };
    auto load = [&](Value key) { return emitter.load(row, ofRow(key, lanes, frame.otherLength)); };
    auto keep = [&](Value tile, Value key) { tile::StoreOp::create(b, tile, row, none, key); };
    auto wide = [&](Value tile) { return emitter.broadcast(tile, 1, lanes); };
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto walk = [&](Value end, ValueRange state, function_ref<SmallVector<Value>(Value, ValueRange)> body) {
      return emitter.loop(none, end, lanes, room, state, body);
    };

    // Reads past the last key return the last key's element, or this zero if there are no keys.
    keep(emitter.constant(1, lanes, 0), none);

    // Computes the scores, and their maximum; for a gradient, the sum of weights times gradients of weights.
    Value first = emitter.constant(1, 1, grad ? 0 : kLowest);
    Value total = walk(frame.otherLength, first, [&](Value key, ValueRange state) -> SmallVector<Value> {
      Place place = frame.pairs(key);
      emitter.define(chain.scores.getResult(), place, frame.scores(chain.scores, key));
      Value score = emitter.evaluate(chain.input(), place);
      if (!grad)
        score = arith::MaximumFOp::create(b, score, wide(first));
      keep(score, key);
      if (!grad)
        return {arith::MaximumFOp::create(b, state[0], emitter.reduce(tile::Combine::Max, score, 1))};
      Value part = frame.whereBelow(mul(emitter.evaluate(grad.getOutput(), place), score), key, 1, frame.otherLength);
      return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, part, 1))};
    })[0];
    tile::WaitOp::create(b, 0);
    auto power = [&](Value key) -> Value {
      Value difference = arith::SubFOp::create(b, load(key), wide(total));
      return frame.whereBelow(math::ExpOp::create(b, difference), key, 1, frame.otherLength);
    };
    Value scale;
    if (!grad) {
      Value zero = emitter.constant(1, 1, 0);
      Value sum = walk(frame.otherLength, zero, [&](Value key, ValueRange state) -> SmallVector<Value> {
        return {arith::AddFOp::create(b, state[0], emitter.reduce(tile::Combine::Sum, power(key), 1))};
      })[0];
      // If all scores are lowest, all weights are zero.
      Value any = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, total, first);
      scale = arith::SelectOp::create(b, any, arith::DivFOp::create(b, emitter.constant(1, 1, 1), sum), zero);
    }

    // Computes the weights, or the gradients of scores. In memory, missing keys need theirs too.
    walk(isStored ? emitter.index(room) : frame.otherLength, {}, [&](Value key, ValueRange) -> SmallVector<Value> {
      Place place = frame.pairs(key);
      Value tile =
          grad ? mul(emitter.evaluate(grad.getOutput(), place), arith::SubFOp::create(b, load(key), wide(total)))
               : mul(power(key), wide(scale));
      emitter.define(chain.weights->getResult(0), place, frame.whereBelow(tile, key, 1, frame.otherLength));
      finished = emitter.finish(chain.scores.getType(), place);
      keep(emitter.evaluate(pairs, place), key);
      return {};
    });
    tile::WaitOp::create(b, 0);

    emitter.loop(none, emitter.index(width), lanes, width, {}, [&](Value column, ValueRange) -> SmallVector<Value> {
      Value sums = frame.sums(column, parameters, region, [&](Value key, int64_t keys) {
        return emitter.load(row, ofRow(key, keys, frame.otherLength), Padding::Zero, /*transposed=*/true);
      });
      Place place{
          frame.ownedRow, emitter.add(frame.headColumn, column), 1, lanes, {}, frame.limitOf(frame.headColumn, width)};
      emitter.define(result, place, sums);
      if (succeeded(finished))
        finished = emitter.finish(cast<RankedTensorType>(result.getType()), place);
      return {};
    });
  });
  return finished;
}
