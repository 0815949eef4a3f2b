// What attention's three kernels share: which rows a workgroup owns, the loop over the others, and the scores between
// them.
#ifndef HEDDLE_COMPILER_TILING_ATTENTIONFRAME_H
#define HEDDLE_COMPILER_TILING_ATTENTIONFRAME_H

#include "compiler/Kernels/Fragments.h"
#include "compiler/Tiling/KernelEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::heddle {

/// What heddle.attention and the two halves of its gradient have in common, and ops on scores in memory with them.
struct Attention {
  Value query, key, queryStarts, queryLengths, keyStarts, keyLengths, seed, step;
  int64_t heads, stream;
  double scale, dropout;
  StringRef querySize, keySize; // of the longest sequence; empty where each has one row
  Region *mask;                 // null where nothing but sequences restricts what a query sees
  Region *score;                // null where nothing acts on scaled scores
  Region *scoreGradient;        // likewise, and in the forward pass
  Value keyRows;                // where a sequence's keys need not be neighbours; else null
  int64_t pairKeys = 0;         // of a query and head, where scores are in memory
  bool hasTensorFactors = false;

  static Value keyRowsOf(AttentionOp op) { return op.getKeyRows(); }
  static Value keyRowsOf(Operation *) { return {}; } // gradients are of neighbouring keys alone
  template <typename GradOp> static Region *scoreGradientOf(GradOp op) { return orNull(op.getScoreGradient()); }
  static Region *scoreGradientOf(AttentionOp) { return nullptr; }
  static Region *orNull(Region &region) { return region.empty() ? nullptr : &region; }

  template <typename AttentionLike> static Attention of(AttentionLike op) {
    return {op.getQuery(),
            op.getKey(),
            op.getQueryStarts(),
            op.getQueryLengths(),
            op.getKeyStarts(),
            op.getKeyLengths(),
            op.getSeed(),
            op.getStep(),
            static_cast<int64_t>(op.getHeads()),
            static_cast<int64_t>(op.getStream()),
            op.getScale().convertToDouble(),
            op.getDropout().convertToDouble(),
            op.getQuerySize(),
            op.getKeySize(),
            orNull(op.getMask()),
            orNull(op.getScore()),
            scoreGradientOf(op),
            keyRowsOf(op),
            /*pairKeys=*/0,
            heddle::hasTensorFactors(op, op.getQuery())};
  }

  /// Of an op on `scores` in memory, with the matrices that have the queries' rows and the keys'.
  template <typename PairsOp>
  static Attention ofPairs(PairsOp op, Value scores, Value query, Value key, Value keyRows) {
    auto type = cast<RankedTensorType>(scores.getType());
    return {query,
            key,
            op.getQueryStarts(),
            op.getQueryLengths(),
            op.getKeyStarts(),
            op.getKeyLengths(),
            /*seed=*/{},
            /*step=*/{},
            /*heads=*/type.getDimSize(1),
            /*stream=*/0,
            /*scale=*/1,
            /*dropout=*/0,
            op.getQuerySize(),
            op.getKeySize(),
            /*mask=*/nullptr,
            /*score=*/nullptr,
            /*scoreGradient=*/nullptr,
            keyRows,
            /*pairKeys=*/type.getDimSize(2)};
  }
};

/// A workgroup owns `rows` queries (or keys) of one sequence and one head, each lane some of them whole (four
/// lanes together on tensor cores), and visits the sequence's keys (or queries) in steps. So the tiles of scores have
/// the owned side's rows and the visited side's columns, and all sums stay within those lanes.
///
/// GPUs without tensor cores have blocks instead: the lanes of several subgroups share the rows and the columns of a
/// tile of scores out, and its factors come through shared memory. Values of factors are then shared memory, and not
/// tiles; owned factors of the widest heads are values of the graph.
///
/// Where a sequence has one query that would leave all lanes but one idle. Its keys are dealt to the lanes instead: the
/// tile of scores is a column, a row of it a key of the step, and what is summed up are as many softmaxes, each of the
/// keys that came to its row. Four lanes share a row, as they then read neighbours of each other.
class AttentionFrame {
public:
  enum class Owns { Queries, Keys, OneQuery };

  /// Whether OneQuery can be owned.
  static bool isOfOneQuery(AttentionOp op);

  /// `products`: how many products of the head's width a step computes, which bounds the size of its code.
  AttentionFrame(KernelEmitter &emitter, const Attention &attention, Owns owns, int64_t products);

  /// The rows and columns of a tile of scores.
  int64_t getRows() const { return rows; }
  int64_t getStep() const { return step; }
  int64_t getWidth() const { return width; }
  /// How many rows of the other side the sequence has.
  Value getVisitedLength() const { return visitedLength; }
  /// The owned rows.
  const Place &owned() const { return ownedPlace; }

  /// Runs `body` in the workgroups whose rows begin inside of their sequence.
  void emit(function_ref<void()> body);

  /// A step of the loop: the visited rows; of each score, the index of its query and of its key in their sequence (i32
  /// tiles), and whether the pair counts: the visited row is inside of its sequence and the mask true (an i1 tile).
  struct Step {
    Value first; // index of the first visited row in its sequence
    Place visited;
    Value query, key;
    Value counts = {}; // null on tensor cores, where it is computed in those steps only that have pairs that do not
    Value rows = {};   // of the visited keys, where they are no neighbours: an i32 tile
  };
  /// Visits what the mask leaves of the other side, step by step, and returns the last state.
  SmallVector<Value> visit(ValueRange state, function_ref<SmallVector<Value>(const Step &, ValueRange)> body);

  /// Where scores in memory have those of the owned rows and a step of visited ones, `visited` being the first's index
  /// in its sequence. If keys are owned, the place is that of the transposed tile.
  Place pairs(Value visited) const;

  /// A head's columns of `value` at a place. Rows past a sequence's end are any rows: they only reach scores that do
  /// not count, or rows that are not stored.
  Value load(Value value, const Place &place);
  /// The same of a step's visited rows.
  Value loadVisited(Value value, const Step &at);
  /// Owned rows as a factor: loaded once, ahead of the loop, or in each of its steps where a lane has no room for them.
  using OwnedFactor = std::function<Value()>;
  OwnedFactor ownedFactor(Value value);
  /// The same of the side that the scores are made of.
  OwnedFactor ownedOfScores(Value value);
  /// The scores from those rows: scaled, where a score region has yet to be applied to them.
  Value scaled(Value ownedRows, Value visitedRows);
  /// What the softmax is of. Its unit is a number of log(2) that a power takes in the instruction that subtracts.
  Value scores(Value scaled, const Step &at);
  /// The score of a pair that does not count, far below kLowest, which is below every other.
  static constexpr double kNever = -2e30, kLowest = -1e30;
  /// The tile where its pairs count, `otherwise` where they do not.
  Value where(const Step &at, Value tile, double otherwise);
  /// The gradient of the scaled scores, from that of the scores.
  Value scaledGradient(Value scaled, const Step &at, Value gradient);
  /// One number per query of this head: a column, or a row where the queries are visited.
  Value loadPerQuery(Value value, const Place &place);
  void storePerQuery(Value result, Value tile);
  /// Writes what the kernel makes of the op's results, of which these are the tiles of the owned rows.
  void finish(ArrayRef<std::pair<Value, Value>> results);

  /// A tile in the type of the kernel's factors.
  Value asFactor(Value tile);
  /// The dot product of each owned row with each visited row, and what `sums` holds before.
  Value products(Value ownedRows, Value visitedRows, Value sums = {});
  /// accumulator + weights * the step's visited rows of `value`.
  Value accumulate(Value weights, Value value, const Step &at, Value accumulator);
  /// What dropout multiplies the probabilities by, 0 or 1 / (1 - rate); null without dropout.
  Value dropoutFactor(const Step &step);
  /// 2 to the power of a number in units of log(2): the smallest powers may be zero.
  Value power(Value exponent) { return math::Exp2Op::create(b, exponent, arith::FastMathFlags::afn); }
  /// The powers of scores minus each query's reference, which is in units of log(2), 0 where a pair does not count: on
  /// tensor cores and in blocks because its score is `kNever`, elsewhere by selection.
  Value powers(const Step &step, Value scores, Value reference);
  /// The probabilities again, from scores and each query's log-sum-exp in units of log(2).
  Value probabilities(const Step &step, Value scores, Value logSumExp);
  /// A number in the scores' unit in units of log(2).
  Value inLogs(Value score) { return unit == 1 ? score : mul(score, unit); }

  Value mul(Value x, Value y);
  Value mul(Value x, double factor);
  Value sub(Value x, Value y);
  Value broadcast(Value tile) { return emitter.broadcast(tile, rows, step); }

private:
  int64_t ownedAtOnce() const { return isOneQuery ? 1 : rows; }
  int64_t visitedAtOnce() const { return isOneQuery ? rows : step; }

  /// owned * (owned row's index) + visited * (visited row's index) + constant >= 0, of every pair that counts.
  struct Bound {
    int64_t owned, visited, constant;
  };
  /// These set the spread, `rows` and `step`.
  void chooseRegisters(int64_t products);
  void chooseQuads();
  void chooseBlocks(int64_t products);
  void chooseFragments(int64_t products);
  int64_t maximumOwned();
  int64_t maximumVisited();
  std::pair<Value, Value> visitedRange();
  Value loadVisitedTile(Value value, const Step &at);
  /// A tile in shared memory of its own. Lanes see it after `meet`; the first of a step waits for those who still read
  /// what the last step left there.
  Value share(Value tile);
  void meet();
  /// accumulator + lhs * rhs, `depth` places of the contracted dimension. Both are in shared memory; the left side may
  /// be a value of the graph instead, of which the owned rows are meant.
  Value multiplyShared(Value lhs, Value rhs, int64_t depth, bool transposeRhs, Value accumulator);
  /// Whether each pair of the step counts, as one i1; null if nothing but a look at each pair tells.
  Value allCount(Value at);
  /// Whether each pair counts, as a tile.
  Value pairsThatCount(const Step &at);
  Value applyToScores(Region &region, Value scaled, const Step &at, ValueRange more);
  Value splat(double value, Value like);

  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  const Attention attention;
  const bool ownsQueries, isOneQuery, fragments, blocks;
  int64_t width, rows, step, subgroups = 1;                    // of tiles of scores: rows x step
  int64_t registersLeft = std::numeric_limits<int64_t>::max(); // of a lane, for owned factors
  double ownedScale = 1, productScale = 1, unit = 1;           // of the owned rows, of their products, of the scores
  SmallVector<Bound> bounds;
  bool boundsAreExact = true;
  Value head, sequence, queryStart, first, ownedLength, visitedStart, visitedLength;
  Place ownedPlace;
  DenseMap<Value, Value> visitedShared; // of this step
  bool isFirstOfStep = false, isPending = false;
};

} // namespace mlir::heddle

#endif
