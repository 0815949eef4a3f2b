// Fused attention, and the two ops of its backward pass.
#include "compiler/Reference/Philox.h"
#include "compiler/Reference/QueryKeyPairs.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::reference;

namespace {

/// The common part of attention and its gradients: for every pair and head the scaled product of query and key, the
/// score computed from it, whether the pair counts, and dropout's factor.
struct Scored {
  std::vector<Pair> pairs;
  Heads heads;
  Array scaled, score; // pairs x heads
  Array counts;        // pairs
  Array factor;        // pairs x heads

  int64_t size() const { return static_cast<int64_t>(pairs.size()); }
  /// Calls `visit` with the number of each pair that counts, the pair, and each head.
  template <typename Visit> void forEach(Visit visit) const {
    for (int64_t p = 0; p < size(); ++p)
      for (int64_t head = 0; counts(p) != 0 && head < heads.count; ++head)
        visit(p, pairs[static_cast<size_t>(p)], head);
  }
};

} // namespace

/// Returns the dot product, over a head's columns, of the query's row of `a` and the key's row of `b`.
static double product(const Array &a, const Array &b, const Pair &pair, const Heads &heads, int64_t head) {
  double sum = 0;
  for (int64_t column = 0; column < heads.width; ++column)
    sum += a(pair.queryRow, heads.query(head, column)) * b(pair.keyRow, heads.key(head, column));
  return sum;
}

/// Returns the arguments of a score region: the scaled product, the indices of query and key, and the head.
static SmallVector<Array> argumentsOf(const Scored &scored) {
  SmallVector<Array> arguments(4, Array(scored.scaled.shape));
  for (int64_t p = 0; p < scored.size(); ++p)
    for (int64_t head = 0; head < scored.heads.count; ++head) {
      arguments[0](p, head) = scored.scaled(p, head);
      arguments[1](p, head) = static_cast<double>(scored.pairs[static_cast<size_t>(p)].query);
      arguments[2](p, head) = static_cast<double>(scored.pairs[static_cast<size_t>(p)].key);
      arguments[3](p, head) = static_cast<double>(head);
    }
  return arguments;
}

/// Repeats the single number that a region yields if it does not depend on its arguments.
static Array spread(Array numbers, ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(numbers.shape) == shape)
    return numbers;
  Array all(shape);
  llvm::fill(all.numbers, numbers(0));
  return all;
}

template <typename Op> static FailureOr<Scored> score(Op op, Frame &frame, Value keyRows) {
  const Array &query = frame.get(op.getQuery()), &key = frame.get(op.getKey());
  FailureOr<std::vector<Pair>> pairs = pairsOf(op, frame, keyRows, query.shape[0], key.shape[0]);
  if (failed(pairs))
    return failure();
  auto count = static_cast<int64_t>(pairs->size()), heads = static_cast<int64_t>(op.getHeads());
  Scored scored{std::move(*pairs),
                Heads(heads, query.shape[1], key.shape[1]),
                Array({count, heads}),
                {},
                Array(ArrayRef<int64_t>{count}),
                Array({count, heads})};
  double scale = op.getScale().convertToDouble(), rate = op.getDropout().convertToDouble();
  for (int64_t p = 0; p < count; ++p)
    for (int64_t head = 0; head < heads; ++head) {
      const Pair &pair = scored.pairs[static_cast<size_t>(p)];
      scored.scaled(p, head) = scale * product(query, key, pair, scored.heads, head);
      scored.factor(p, head) = 1;
      if (rate == 0)
        continue;
      auto stream = ((static_cast<uint32_t>(op.getStream()) + 1) << 16) + static_cast<uint32_t>(head);
      double drawn = uniform(keyOf(frame.get(op.getSeed())), static_cast<uint32_t>(frame.get(op.getStep()).whole(0)),
                             stream, static_cast<uint32_t>(pair.queryRow), static_cast<uint32_t>(pair.key));
      scored.factor(p, head) = drawn >= rate ? 1 / (1 - rate) : 0;
    }
  scored.score = scored.scaled;
  if (!op.getScore().empty()) {
    FailureOr<Array> made = runElementwise(op.getScore(), frame, argumentsOf(scored));
    if (failed(made))
      return failure();
    scored.score = spread(std::move(*made), scored.scaled.shape);
  }
  llvm::fill(scored.counts.numbers, 1);
  if (!op.getMask().empty()) {
    SmallVector<Array> indices(2, scored.counts);
    for (auto [p, pair] : llvm::enumerate(scored.pairs)) {
      indices[0](static_cast<int64_t>(p)) = static_cast<double>(pair.query);
      indices[1](static_cast<int64_t>(p)) = static_cast<double>(pair.key);
    }
    FailureOr<Array> counts = runElementwise(op.getMask(), frame, indices);
    if (failed(counts))
      return failure();
    scored.counts = spread(std::move(*counts), scored.counts.shape);
  }
  return scored;
}

/// Returns exp(score - other), or zero if the score is minus infinity, whatever the other number is.
static double exponential(double score, double other) { return score == -INFINITY ? 0 : std::exp(score - other); }

static LogicalResult attention(AttentionOp op, Frame &frame) {
  FailureOr<Scored> scored = score(op, frame, op.getKeyRows());
  if (failed(scored))
    return failure();
  const Array &value = frame.get(op.getValue());
  Array &result = frame.make(op.getResult()), &logSumExp = frame.make(op.getLogSumExp());
  Array largest(logSumExp.shape), sums(logSumExp.shape);
  llvm::fill(largest.numbers, -INFINITY);
  if (op.getSink())
    for (int64_t i = 0; i < largest.size(); ++i)
      largest(i) = frame.get(op.getSink())(i % largest.shape[1]);
  // The heads of a part of the keys lie beside those of the part before.
  auto partKeys = static_cast<int64_t>(op.getPartKeys());
  auto headOfPart = [&](const Pair &pair, int64_t head) {
    return head + (partKeys > 0 ? pair.key / partKeys * scored->heads.count : 0);
  };
  scored->forEach([&](int64_t p, const Pair &pair, int64_t head) {
    double &most = largest(pair.queryRow, headOfPart(pair, head));
    most = std::max(most, scored->score(p, head));
  });
  // exp(score - log_sum_exp) would be less exact: next to a large score, log_sum_exp loses the sum to rounding.
  Array weight(scored->score.shape);
  scored->forEach([&](int64_t p, const Pair &pair, int64_t head) {
    int64_t column = headOfPart(pair, head);
    weight(p, head) = exponential(scored->score(p, head), largest(pair.queryRow, column));
    sums(pair.queryRow, column) += weight(p, head);
  });
  for (int64_t i = 0; i < sums.size(); ++i) {
    if (op.getSink())
      sums(i) += std::exp(frame.get(op.getSink())(i % sums.shape[1]) - largest(i));
    logSumExp(i) = largest(i) + std::log(sums(i));
  }
  scored->forEach([&](int64_t p, const Pair &pair, int64_t head) {
    int64_t inPart = headOfPart(pair, head);
    if (sums(pair.queryRow, inPart) == 0) // all scores are minus infinity
      return;
    double probability = weight(p, head) / sums(pair.queryRow, inPart) * scored->factor(p, head);
    for (int64_t column = 0; column < scored->heads.width; ++column)
      result(pair.queryRow, scored->heads.query(inPart, column)) +=
          probability * value(pair.keyRow, scored->heads.key(head, column));
  });
  return success();
}

static void mergeParts(MergePartsOp op, Frame &frame) {
  const Array &parts = frame.get(op.getParts()), &logSumExp = frame.get(op.getLogSumExp());
  Array &result = frame.make(op.getResult());
  auto heads = static_cast<int64_t>(op.getHeads());
  int64_t columns = result.shape[1], width = columns / heads;
  for (int64_t row = 0; row < result.shape[0]; ++row)
    for (int64_t head = 0; head < heads; ++head) {
      double largest = op.getSink() ? frame.get(op.getSink())(head) : -INFINITY;
      double sum = op.getSink() ? 1 : 0;
      auto forParts = [&](auto visit) {
        for (int64_t part = 0; part < logSumExp.shape[1] / heads; ++part)
          visit(part, logSumExp(row, part * heads + head));
      };
      double most = largest;
      forParts([&](int64_t, double number) { most = std::max(most, number); });
      sum *= exponential(largest, most);
      forParts([&](int64_t, double number) { sum += exponential(number, most); });
      if (sum == 0) // no part has keys
        continue;
      forParts([&](int64_t part, double number) {
        for (int64_t column = head * width; column < (head + 1) * width; ++column)
          result(row, column) += exponential(number, most) / sum * parts(row, part * columns + column);
      });
    }
}

static void attentionDelta(AttentionDeltaOp op, Frame &frame) {
  const Array &forward = frame.get(op.getForward()), &gradient = frame.get(op.getGradient());
  Array &result = frame.make(op.getResult());
  int64_t width = forward.shape[1] / result.shape[1];
  for (int64_t row = 0; row < forward.shape[0]; ++row)
    for (int64_t column = 0; column < forward.shape[1]; ++column)
      result(row, column / width) += forward(row, column) * gradient(row, column);
}

/// For all pairs that count, the probabilities times dropout's factor, and the gradients of the scaled products.
struct Slopes {
  Scored scored;
  Array weight, slope; // pairs x heads
};

template <typename Op> static FailureOr<Slopes> slopesOf(Op op, Frame &frame) {
  FailureOr<Scored> made = score(op, frame, Value());
  if (failed(made))
    return failure();
  const Array &value = frame.get(op.getValue()), &gradient = frame.get(op.getGradient());
  const Array &logSumExp = frame.get(op.getLogSumExp()), &delta = frame.get(op.getDelta());
  Array none(made->scaled.shape);
  Slopes slopes{std::move(*made), none, none};
  const Scored &scored = slopes.scored;
  scored.forEach([&](int64_t p, const Pair &pair, int64_t head) {
    double probability = exponential(scored.score(p, head), logSumExp(pair.queryRow, head));
    double ofWeight = product(gradient, value, pair, scored.heads, head) * scored.factor(p, head);
    slopes.weight(p, head) = probability * scored.factor(p, head);
    slopes.slope(p, head) = probability * (ofWeight - delta(pair.queryRow, head));
  });
  if (op.getScoreGradient().empty())
    return slopes;
  SmallVector<Array> arguments = argumentsOf(scored);
  arguments.push_back(slopes.slope);
  FailureOr<Array> ofScaled = runElementwise(op.getScoreGradient(), frame, arguments);
  if (failed(ofScaled))
    return failure();
  slopes.slope = spread(std::move(*ofScaled), scored.scaled.shape);
  return slopes;
}

static LogicalResult attentionGradQuery(AttentionGradQueryOp op, Frame &frame) {
  FailureOr<Slopes> slopes = slopesOf(op, frame);
  if (failed(slopes))
    return failure();
  const Array &key = frame.get(op.getKey());
  Array &result = frame.make(op.getResult());
  double scale = op.getScale().convertToDouble();
  slopes->scored.forEach([&](int64_t p, const Pair &pair, int64_t head) {
    for (int64_t column = 0; column < slopes->scored.heads.width; ++column)
      result(pair.queryRow, slopes->scored.heads.query(head, column)) +=
          scale * slopes->slope(p, head) * key(pair.keyRow, slopes->scored.heads.key(head, column));
  });
  return success();
}

static LogicalResult attentionGradKeyValue(AttentionGradKeyValueOp op, Frame &frame) {
  FailureOr<Slopes> slopes = slopesOf(op, frame);
  if (failed(slopes))
    return failure();
  const Array &query = frame.get(op.getQuery()), &gradient = frame.get(op.getGradient());
  Array &ofKey = frame.make(op.getKeyGradient()), &ofValue = frame.make(op.getValueGradient());
  double scale = op.getScale().convertToDouble();
  slopes->scored.forEach([&](int64_t p, const Pair &pair, int64_t head) {
    for (int64_t column = 0; column < slopes->scored.heads.width; ++column) {
      int64_t from = slopes->scored.heads.query(head, column), to = slopes->scored.heads.key(head, column);
      ofKey(pair.keyRow, to) += scale * slopes->slope(p, head) * query(pair.queryRow, from);
      ofValue(pair.keyRow, to) += slopes->weight(p, head) * gradient(pair.queryRow, from);
    }
  });
  return success();
}

void reference::addAttention(Registry &registry) {
  registry.add<attention, mergeParts, attentionDelta, attentionGradQuery, attentionGradKeyValue>();
}
