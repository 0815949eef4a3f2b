// The ways in which the lanes of a workgroup share attention's work. Each is a class of its own: it chooses the shape
// of a workgroup's tile of scores, keeps the operands of products where its lanes reach them, and multiplies.
#ifndef HEDDLE_COMPILER_TILING_ATTENTIONSHARING_H
#define HEDDLE_COMPILER_TILING_ATTENTIONSHARING_H

#include "compiler/Tiling/AttentionBounds.h"

#include <memory>

namespace mlir::heddle {

/// A step of the loop over the other side: the visited rows; of each score, the index of its query and of its key in
/// their sequence (i32 tiles), and whether the pair counts: the visited row is inside of its sequence and the mask true
/// (an i1 tile).
struct AttentionStep {
  Value first; // index of the first visited row in its sequence
  Place visited;
  Value query, key;
  Value counts = {}; // null where it is computed in those steps only that have pairs that do not
  Value rows = {};   // of the visited keys, where they are no neighbours: an i32 tile
  Value member = {}; // the number of the visited head in its group; null: there is one
};

class AttentionSharing {
public:
  struct Work {
    KernelEmitter &emitter;
    const Attention &attention;
    const AttentionBounds &bounds;
    /// How many products of the head's width a step computes, which bounds the size of its code, and of the results
    /// that it adds to: two in the forward pass, three and four in those of gradients, of which the last has two
    /// results.
    int64_t products;
    bool isOneQuery, ownsQueries;

    int64_t results() const { return products > 3 ? 2 : 1; }
    bool isGradient() const { return products > 2; }
    /// Whether the heads of a group are worth a workgroup of `rows`, which is twice the usual: keys that come to shared
    /// memory serve all of them. Sequences have to fill it, and all of the device's processors to get work.
    bool isWorthTwice(int64_t rows) const;
  };

  /// The way that suits the target and the widths of heads.
  static std::unique_ptr<AttentionSharing> choose(const Work &work);
  virtual ~AttentionSharing() = default;

  /// The rows and columns of a tile of scores.
  int64_t getRows() const { return rows; }
  int64_t getStep() const { return step; }
  /// How many rows a workgroup owns and a step visits, and the dimension of a tile of scores that has the owned ones.
  virtual int64_t ownedAtOnce() const { return rows; }
  virtual int64_t visitedAtOnce() const { return step; }
  virtual int64_t ownedDim() const { return 0; }
  /// How many times `ownedAtOnce` rows a workgroup owns, one after the other, if it walks over tiles.
  virtual std::optional<int64_t> tilesOfWorkgroup() const { return {}; }
  /// How many heads of queries a workgroup owns, all of them for the same keys, which it then reads once.
  virtual int64_t headsAtOnce() const { return 1; }

  /// The numbers that the scale is folded into: the owned rows, where that does not round them once more; their
  /// products; or, where nothing else acts on scores, the unit that these are in.
  enum class Scales { Owned, Products, Unit };
  virtual Scales scales() const { return Scales::Owned; }
  /// Whether it is known of each step which of its pairs count, or only looked at in those steps that have others.
  virtual bool looksAtEachStep() const { return true; }
  /// Whether the scores of pairs that do not count are `kNever` before powers are taken of them, which then are zero.
  virtual bool marksScores() const { return false; }
  /// Whether workgroups whose rows visit most come first, those of all heads, so that none is left over when others are
  /// done.
  virtual bool putsLongestFirst() const { return false; }

  /// The workgroup's rows, which are known once its grid is.
  void setOwned(const Place &place) { owned = place; }
  /// What the workgroup's tiles visit: the rows `begin` to `end` of a sequence that begins at `start` and ends at
  /// `rowLimit`, of the first visited head whose columns begin at `column`.
  struct Visited {
    Value start, begin, end, rowLimit, column;
  };
  /// Before the loop over the tiles gets its body.
  virtual void beginTiles(const Visited &, Operation *) {}
  virtual void beginStep() {}

  /// A head's columns of `value` at a place, as lanes multiply them.
  Value load(Value value, const Place &place);
  /// Owned rows as a factor, times `scale`: loaded once, ahead of the loop, or in each of its steps where a lane has no
  /// room for them.
  using OwnedOperand = std::function<Value()>;
  virtual OwnedOperand ownedOperand(Value value, double scale);
  /// A step's visited rows as an operand.
  virtual Value loadVisited(Value value, const AttentionStep &at);
  /// The dot product of each owned row with each visited row, added to `sums`.
  virtual Value products(Value ownedRows, Value visitedRows, Value sums) = 0;
  /// accumulator * (`rescale`, a number a row) + weights * the step's visited rows of `value`. There may be no
  /// `rescale`.
  virtual Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) = 0;
  /// The accumulator of a tile before the first step, and its sums after the last: of weighed rows of `value`.
  virtual Value beginSums(Value value) { return emitter.constant(rows, width, 0); }
  virtual Value endSums(Value value, Value accumulator) { return accumulator; }
  /// The results of `accumulate` times a number a row.
  virtual Value scaleRows(Value sums, Value factors);

protected:
  explicit AttentionSharing(const Work &work)
      : emitter(work.emitter), b(emitter.builder()), attention(work.attention), width(attention.width()) {}

  /// The form in which lanes multiply a loaded tile.
  virtual Value asLoaded(Value tile) { return emitter.widen(tile); }
  Value loadVisitedTile(Value value, const AttentionStep &at);
  Value mul(Value x, double factor);
  Value zeros() { return emitter.constant(rows, step, 0); }

  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  const Attention &attention;
  const int64_t width;
  int64_t rows = 0, step = 0;
  Place owned{};
};

/// Heads up to which shared memory has room for the owned operands in f32. Of wider heads they are read where they are.
inline constexpr int64_t kWidestOwned = 128;

/// What ways have in common whose operands come to the lanes through shared memory.
class SharedMemorySharing : public AttentionSharing {
public:
  bool marksScores() const override { return true; }
  void beginStep() override;
  Value loadVisited(Value value, const AttentionStep &at) override;

protected:
  using AttentionSharing::AttentionSharing;
  /// A tile in shared memory of its own. Lanes see it after `meet`; the first of a step waits for those who still read
  /// what the last step left there.
  Value share(Value tile);
  /// The same, in memory that is there.
  void put(Value tile, Value shared);
  void meet();

private:
  DenseMap<Value, Value> visitedShared; // of this step
  bool isFirstOfStep = false, isPending = false;
};

/// A lane owns rows whole: devices whose lanes are fast alone.
std::unique_ptr<AttentionSharing> shareByRows(const AttentionSharing::Work &work);

/// A thread owns rows whole, and packs what they visit. Null where the target's workgroups are no threads, or where
/// vectors do not divide the width of heads.
std::unique_ptr<AttentionSharing> shareByPanels(const AttentionSharing::Work &work);

/// Of one query, keys are distributed over lanes that share rows of them.
std::unique_ptr<AttentionSharing> shareByQuads(const AttentionSharing::Work &work);

/// Lanes of several subgroups share the rows and the columns of a tile of scores: GPUs without tensor cores.
bool canShareByBlocks(const TargetProfile &profile, int64_t width);
std::unique_ptr<AttentionSharing> shareByBlocks(const AttentionSharing::Work &work);

/// Subgroups own rows, as cooperative matrices. Null where the target has none, or where they do not fit.
std::unique_ptr<AttentionSharing> shareByMatrices(const AttentionSharing::Work &work);

/// Four lanes share a row, as tensor cores have it.
bool canShareByFragments(const AttentionSharing::Work &work);
std::unique_ptr<AttentionSharing> shareByFragments(const AttentionSharing::Work &work);

} // namespace mlir::heddle

#endif
