// The ways in which the lanes of a workgroup share attention's work. Each way is a class. It chooses the shape of a
// workgroup's tile of scores, keeps the operands of matmuls where its lanes reach them, and multiplies.
#pragma once

#include "compiler/Kernel/Tiling/Attention/AttentionBounds.h"

#include <memory>

namespace mlir::heddle {

/// A step of the loop over the other side. `query` and `key` hold, for each score, the indices of its query and key in
/// their sequence (i32 tiles). `counts` says whether the pair counts (an i1 tile): the visited row is inside its
/// sequence, and the mask is true.
struct AttentionStep {
  Value first; // index of the first visited row in its sequence
  Place visited;
  Value query, key;
  Value counts = {}; // null if computed lazily, only in steps that contain masked pairs
  Value rows = {};   // row numbers of the visited keys if not contiguous: an i32 tile
  Value member = {}; // the number of the visited head in its group; null if there is one
};

class AttentionSharing {
public:
  struct Work {
    KernelEmitter &emitter;
    const Attention &attention;
    const AttentionBounds &bounds;
    /// The number of matmuls of the head's width in a step: one if scores are in memory, two in the forward pass, three
    /// in the query's gradient, four in the gradient of keys and values. It bounds the size of a step's code, and
    /// determines the number of results that a step adds to.
    int64_t products;
    bool isOneQuery, ownsQueries;

    int64_t results() const { return products > 3 ? 2 : 1; }
    bool isGradient() const { return products > 2; }
    /// Returns true if a workgroup of `rows` rows, twice the usual number, pays off because the heads of a group share
    /// keys in shared memory. Sequences must fill the rows, and every processor of the device must still get work.
    bool isWorthTwice(int64_t rows) const;
  };

  /// Chooses the way that suits the target and the width of heads.
  static std::unique_ptr<AttentionSharing> choose(const Work &work);
  /// Maximum bytes of the panels of a thread's workgroup. Longer sequences are visited without packing.
  static constexpr int64_t kMostPanelBytes = int64_t(32) << 20;
  virtual ~AttentionSharing() = default;

  /// The rows and columns of a tile of scores.
  int64_t getRows() const { return rows; }
  int64_t getStep() const { return step; }
  /// The number of rows that a workgroup owns and that a step visits, and the dimension of a tile of scores along which
  /// the owned rows lie.
  virtual int64_t ownedAtOnce() const { return rows; }
  virtual int64_t visitedAtOnce() const { return step; }
  virtual int64_t ownedDim() const { return 0; }
  /// How many tiles of `ownedAtOnce` rows a workgroup owns, one after the other. Nothing if it does not loop over
  /// tiles.
  virtual std::optional<int64_t> tilesOfWorkgroup() const { return {}; }
  /// The number of query heads that a workgroup owns. They use the same keys, which the workgroup reads once.
  virtual int64_t headsAtOnce() const { return 1; }

  /// Which numbers the scale is folded into. Owned: the owned rows, if that does not round them once more. Products:
  /// the products of the rows. Unit: the unit of the scores, if nothing else acts on scores.
  enum class Scales { Owned, Products, Unit };
  virtual Scales scales() const { return Scales::Owned; }
  /// Returns true if every step computes which of its pairs count. Otherwise pairs are checked only in steps where some
  /// of them do not count.
  virtual bool looksAtEachStep() const { return true; }
  /// Returns true if the last step has code of its own, unless all of its rows are inside the sequence. Places of the
  /// other steps then have no row limit.
  virtual bool splitsOffLastStep() const { return false; }
  /// Returns true if pairs that do not count get the score `kNever` before powers are taken. Their powers are then
  /// zero.
  virtual bool marksScores() const { return false; }
  /// Returns true if the workgroups whose rows visit the most come first, across all heads, so that no long workgroup
  /// is left over at the end.
  virtual bool putsLongestFirst() const { return false; }

  /// Sets the workgroup's rows. They are known once its grid is.
  void setOwned(const Place &place) { owned = place; }
  /// The rows that the workgroup's tiles visit: the rows `begin` to `end` of a sequence that begins at `start` and ends
  /// at `rowLimit`. `column` is the first column of the first visited head.
  struct Visited {
    Value start, begin, end, rowLimit, column;
  };
  /// Called before the loop over the tiles gets its body.
  virtual void beginTiles(const Visited &, Operation *) {}
  virtual void beginStep() {}

  /// Loads a head's columns of `value` at a place, in the form in which lanes multiply them.
  Value load(Value value, const Place &place);
  /// Owned rows as an operand, times `scale`. They are loaded once, ahead of the loop, or in each step if a lane has no
  /// room for them.
  using OwnedOperand = std::function<Value()>;
  virtual OwnedOperand ownedOperand(Value value, double scale);
  /// Loads a step's visited rows as an operand.
  virtual Value loadVisited(Value value, const AttentionStep &at);
  /// Returns the dot product of each owned row with each visited row, added to `sums`.
  virtual Value products(Value ownedRows, Value visitedRows, Value sums) = 0;
  /// Returns accumulator * `rescale` + weights * the step's visited rows of `value`. `rescale` has one number per row
  /// and may be null.
  virtual Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) = 0;
  /// The accumulator of a tile before the first step, and its sums after the last step: weighted sums of the rows of
  /// `value`.
  virtual Value beginSums(Value value) { return emitter.constant(rows, width, 0); }
  virtual Value endSums(Value value, Value accumulator) { return accumulator; }
  /// Returns true if sums are in scratch memory. `accumulate` then takes no `rescale`: use `scaleSums`.
  virtual bool hasSumsInMemory() const { return false; }
  /// Multiplies the sums in scratch memory by one number per row.
  virtual void scaleSums(Value value, Value factors) { llvm_unreachable("sums are in registers"); }
  /// Multiplies each row of an accumulator by its number in `factors`.
  virtual Value scaleRows(Value sums, Value factors);

protected:
  explicit AttentionSharing(const Work &work)
      : emitter(work.emitter), b(emitter.builder()), attention(work.attention), width(attention.width()) {}

  /// Converts a loaded tile to the form in which lanes multiply it.
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

/// The widest heads whose owned operands fit into shared memory in f32. Owned operands of wider heads stay where they
/// are.
inline constexpr int64_t kWidestOwned = 128;

/// Base of the ways whose operands reach the lanes through shared memory.
class SharedMemorySharing : public AttentionSharing {
public:
  bool marksScores() const override { return true; }
  void beginStep() override;
  Value loadVisited(Value value, const AttentionStep &at) override;

protected:
  using AttentionSharing::AttentionSharing;
  /// Puts the tile into new shared memory. Lanes see it after `meet`. The first tile of a step waits for lanes that
  /// still read the last step's tiles.
  Value share(Value tile);
  /// The same, in existing shared memory.
  void put(Value tile, Value shared);
  void meet();

private:
  DenseMap<Value, Value> visitedShared; // shared tiles of this step
  bool isFirstOfStep = false, isPending = false;
};

/// A lane owns whole rows. For devices whose lanes are fast on their own.
std::unique_ptr<AttentionSharing> shareByRows(const AttentionSharing::Work &work);

/// A thread owns whole rows, and packs the rows that they visit. Null if the target's workgroups are not threads, if
/// vectors do not divide the width of heads, if scores are in memory, if keys are not contiguous, or if the panels
/// would be too large.
std::unique_ptr<AttentionSharing> shareByPanels(const AttentionSharing::Work &work);

/// For sequences of one query. Keys are distributed over lanes, and several lanes share a key's row.
std::unique_ptr<AttentionSharing> shareByQuads(const AttentionSharing::Work &work);

/// Lanes of several subgroups share the rows and the columns of a tile of scores. For GPUs without tensor cores.
bool canShareByBlocks(const TargetProfile &profile, int64_t width);
std::unique_ptr<AttentionSharing> shareByBlocks(const AttentionSharing::Work &work);

/// Subgroups own rows, as cooperative matrices. Null if the target has none, or if they do not fit.
std::unique_ptr<AttentionSharing> shareByMatrices(const AttentionSharing::Work &work);

/// Four lanes share a row, as in tensor-core fragments.
bool canShareByFragments(const AttentionSharing::Work &work);
std::unique_ptr<AttentionSharing> shareByFragments(const AttentionSharing::Work &work);

} // namespace mlir::heddle
