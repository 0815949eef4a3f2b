// Unfused attention: the scores of all pairs in memory, and ops on them.
#include "compiler/Reference/QueryKeyPairs.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

static void locate(LocateOp op, Frame &frame) {
  const Array &starts = frame.get(op.getStarts()), &lengths = frame.get(op.getLengths());
  Array &position = frame.make(op.getPosition()), &sequence = frame.make(op.getSequence());
  for (int64_t s = 0; s < starts.size(); ++s)
    for (int64_t i = 0; i < lengths.whole(s); ++i)
      if (int64_t row = starts.whole(s) + i; row >= 0 && row < position.size()) {
        position(row) = static_cast<double>(i);
        sequence(row) = static_cast<double>(s);
      }
}

/// Fails if a pair's key has no column in scores with `keys` keys per query.
template <typename Op> static LogicalResult expectRoom(Op op, ArrayRef<Pair> pairs, int64_t keys) {
  for (const Pair &pair : pairs)
    if (pair.key >= keys)
      return op.emitOpError() << "has a key " << pair.key << " of " << keys << " of a query";
  return success();
}

/// Calls `visit` with the number of each pair, the pair, each head, and each column of a head.
template <typename Visit> static void forEachColumn(ArrayRef<Pair> pairs, const Heads &heads, Visit visit) {
  for (auto [p, pair] : llvm::enumerate(pairs))
    for (int64_t head = 0; head < heads.count; ++head)
      for (int64_t column = 0; column < heads.width; ++column)
        visit(static_cast<int64_t>(p), pair, head, column);
}

/// Runs `region` on the elements of query and key at each column of a pair's head, with the parameters there and, if
/// there is one, the score's gradient. Returns a number for each pair, head and column.
template <typename Op>
static FailureOr<Array> combine(Op op, Frame &frame, Region &region, ArrayRef<Pair> pairs, const Heads &heads,
                                const Array *gradient) {
  const Array &query = frame.get(op.getQuery()), &key = frame.get(op.getKey());
  auto count = static_cast<int64_t>(pairs.size());
  SmallVector<Array> arguments(2 + op.getParameters().size() + (gradient ? 1 : 0),
                               Array({count, heads.count, heads.width}));
  forEachColumn(pairs, heads, [&](int64_t p, const Pair &pair, int64_t head, int64_t column) {
    auto at = [&](size_t argument) -> double & { return arguments[argument](p, head, column); };
    at(0) = query(pair.queryRow, heads.query(head, column));
    at(1) = key(pair.keyRow, heads.key(head, column));
    for (auto [i, parameter] : llvm::enumerate(op.getParameters()))
      at(2 + i) = frame.get(parameter)(heads.query(head, column));
    if (gradient)
      at(arguments.size() - 1) = (*gradient)(pair.queryRow, head, pair.key);
  });
  FailureOr<Array> parts = runElementwise(region, frame, arguments);
  // A region that yields a constant gives a single number.
  if (succeeded(parts) && parts->size() == 1 && arguments[0].size() != 1) {
    Array all(arguments[0].shape);
    llvm::fill(all.numbers, (*parts)(0));
    return all;
  }
  return parts;
}

static LogicalResult scores(ScoresOp op, Frame &frame) {
  const Array &query = frame.get(op.getQuery()), &key = frame.get(op.getKey());
  Array &result = frame.make(op.getResult());
  FailureOr<std::vector<Pair>> pairs = pairsOf(op, frame, op.getKeyRows(), query.shape[0], key.shape[0]);
  if (failed(pairs) || failed(expectRoom(op, *pairs, result.shape[2])))
    return failure();
  Heads heads(result.shape[1], query.shape[1], key.shape[1]);
  FailureOr<Array> parts = Array();
  if (!op.getCombine().empty())
    parts = combine(op, frame, op.getCombine(), *pairs, heads, nullptr);
  if (failed(parts))
    return failure();
  forEachColumn(*pairs, heads, [&](int64_t p, const Pair &pair, int64_t head, int64_t column) {
    double product = query(pair.queryRow, heads.query(head, column)) * key(pair.keyRow, heads.key(head, column));
    result(pair.queryRow, head, pair.key) += op.getCombine().empty() ? product : (*parts)(p, head, column);
  });
  return success();
}

static LogicalResult scoresGradQuery(ScoresGradQueryOp op, Frame &frame) {
  const Array &gradient = frame.get(op.getGradient()), &query = frame.get(op.getQuery()), &key = frame.get(op.getKey());
  Array &result = frame.make(op.getResult());
  FailureOr<std::vector<Pair>> pairs = pairsOf(op, frame, op.getKeyRows(), query.shape[0], key.shape[0]);
  if (failed(pairs) || failed(expectRoom(op, *pairs, gradient.shape[2])))
    return failure();
  Heads heads(gradient.shape[1], query.shape[1], key.shape[1]);
  FailureOr<Array> parts = combine(op, frame, op.getSlope(), *pairs, heads, &gradient);
  if (failed(parts))
    return failure();
  forEachColumn(*pairs, heads, [&](int64_t p, const Pair &pair, int64_t head, int64_t column) {
    result(pair.queryRow, heads.query(head, column)) += (*parts)(p, head, column);
  });
  return success();
}

static LogicalResult scoresGradKey(ScoresGradKeyOp op, Frame &frame) {
  const Array &gradient = frame.get(op.getGradient()), &query = frame.get(op.getQuery()), &key = frame.get(op.getKey());
  Array &result = frame.make(op.getResult());
  FailureOr<std::vector<Pair>> pairs = pairsOfUsers(op, frame, query.shape[0], key.shape[0]);
  if (failed(pairs) || failed(expectRoom(op, *pairs, gradient.shape[2])))
    return failure();
  Heads heads(gradient.shape[1], query.shape[1], key.shape[1]);
  FailureOr<Array> parts = combine(op, frame, op.getSlope(), *pairs, heads, &gradient);
  if (failed(parts))
    return failure();
  forEachColumn(*pairs, heads, [&](int64_t p, const Pair &pair, int64_t head, int64_t column) {
    result(pair.keyRow, heads.key(head, column)) += (*parts)(p, head, column);
  });
  return success();
}

static LogicalResult context(ContextOp op, Frame &frame) {
  const Array &weights = frame.get(op.getWeights()), &value = frame.get(op.getValue());
  Array &result = frame.make(op.getResult());
  FailureOr<std::vector<Pair>> pairs = pairsOf(op, frame, op.getKeyRows(), weights.shape[0], value.shape[0]);
  if (failed(pairs) || failed(expectRoom(op, *pairs, weights.shape[2])))
    return failure();
  Heads heads(weights.shape[1], result.shape[1], value.shape[1]);
  forEachColumn(*pairs, heads, [&](int64_t, const Pair &pair, int64_t head, int64_t column) {
    result(pair.queryRow, heads.query(head, column)) +=
        weights(pair.queryRow, head, pair.key) * value(pair.keyRow, heads.key(head, column));
  });
  return success();
}

static LogicalResult transposedContext(TransposedContextOp op, Frame &frame) {
  const Array &weights = frame.get(op.getWeights()), &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  FailureOr<std::vector<Pair>> pairs = pairsOfUsers(op, frame, weights.shape[0], result.shape[0]);
  if (failed(pairs) || failed(expectRoom(op, *pairs, weights.shape[2])))
    return failure();
  Heads heads(weights.shape[1], input.shape[1], result.shape[1]);
  forEachColumn(*pairs, heads, [&](int64_t, const Pair &pair, int64_t head, int64_t column) {
    result(pair.keyRow, heads.key(head, column)) +=
        weights(pair.queryRow, head, pair.key) * input(pair.queryRow, heads.query(head, column));
  });
  return success();
}

static LogicalResult mask(MaskOp op, Frame &frame) {
  const Array &scores = frame.get(op.getScores()), &position = frame.get(op.getPosition());
  const Array &sequence = frame.get(op.getSequence()), &lengths = frame.get(op.getKeyLengths());
  Array &result = frame.make(op.getResult());
  SmallVector<Array> arguments(2, Array(scores.shape)); // query and key of each element
  for (int64_t i = 0; i < scores.size(); ++i) {
    arguments[0](i) = position(i / scores.width());
    arguments[1](i) = static_cast<double>(i % scores.shape[2]);
  }
  FailureOr<Array> counts = Array::scalar(1);
  if (!op.getMask().empty())
    counts = runElementwise(op.getMask(), frame, arguments);
  if (failed(counts))
    return failure();
  for (int64_t i = 0; i < scores.size(); ++i) {
    int64_t s = sequence.whole(i / scores.width());
    if (s < 0 || s >= lengths.size())
      return op.emitOpError() << "has a query of sequence " << s << " of " << lengths.size();
    bool isPair = arguments[1](i) < lengths(s);
    result(i) = isPair && (*counts)(counts->size() == 1 ? 0 : i) != 0 ? scores(i) : op.getValue().convertToDouble();
  }
  return success();
}

static void softmax(SoftmaxOp op, Frame &frame) {
  const Array &input = frame.get(op.getInput());
  Array &result = frame.make(op.getResult());
  int64_t columns = input.shape.back();
  for (int64_t begin = 0; begin < input.size(); begin += columns) {
    double sink = op.getSink() ? frame.get(op.getSink())(begin / columns % input.shape[1]) : -INFINITY;
    double largest = sink, sum = 0;
    for (int64_t i = begin; i < begin + columns; ++i)
      largest = std::max(largest, input(i));
    if (std::isinf(largest) && largest < 0)
      continue;
    sum = std::exp(sink - largest);
    for (int64_t i = begin; i < begin + columns; ++i)
      sum += result(i) = std::exp(input(i) - largest);
    for (int64_t i = begin; i < begin + columns; ++i)
      result(i) /= sum;
  }
}

static void softmaxGrad(SoftmaxGradOp op, Frame &frame) {
  const Array &output = frame.get(op.getOutput()), &gradient = frame.get(op.getGradient());
  Array &result = frame.make(op.getResult());
  int64_t columns = output.shape.back();
  for (int64_t begin = 0; begin < output.size(); begin += columns) {
    double sum = 0;
    for (int64_t i = begin; i < begin + columns; ++i)
      sum += output(i) * gradient(i);
    for (int64_t i = begin; i < begin + columns; ++i)
      result(i) = output(i) * (gradient(i) - sum);
  }
}

void reference::addScores(Registry &registry) {
  registry
      .add<locate, scores, scoresGradQuery, scoresGradKey, context, transposedContext, mask, softmax, softmaxGrad>();
}
