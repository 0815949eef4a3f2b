// Attention in a thread. A workgroup owns several tiles of rows of a head, one after the other. It packs the rows that
// they visit into scratch memory once. A panel has as many rows as a tile of scores has columns. Panels are transposed
// for matmuls with the owned rows, and plain for weighted sums. A tile of scores fills the processor's registers;
// operands and sums are in scratch memory.
//
// A workgroup with a single tile, as in decoding, uses each visited row only once. It packs the transposed panel of one
// step after the other into the same scratch memory, and reads the rows of weighted sums in place. Its last step has
// code of its own, which reads only the rows that are left. So the code of other steps needs no limits.
#include "compiler/Kernel/Tiling/Attention/AttentionSharing.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

/// Tiles per workgroup: enough for packing to take a small part of the time.
static constexpr int64_t kTiles = 16;
/// Columns of a head in one pass of the scores' loop: with more, a kernel's loops exceed the cache of decoded
/// instructions.
static constexpr int64_t kColumnsAtOnce = 8;
/// A single tile with few rows has up to this many columns, so that its latencies are paid less often.
static constexpr int64_t kLongestStep = 32;
/// The fewest vectors of weighted sums that a loop adds to. A multiply-add waits for the previous one in the same
/// register.
static constexpr int64_t kFewestSums = 8;
/// Visited rows in an iteration of the loop that adds their weighted sums.
static constexpr int64_t kKeysAtOnce = 8;

namespace {

class PanelSharing final : public AttentionSharing {
public:
  static bool suits(const Work &work) {
    const TargetProfile &profile = work.emitter.getProfile();
    const Attention &attention = work.attention;
    if (profile.registers == 0 || attention.width() % profile.vector != 0 || attention.pairKeys != 0 ||
        attention.keyRows)
      return false;
    PanelSharing sharing(work, false);
    int64_t panels = work.products * visitedHeads(work) * sharing.panelRows();
    return sharing.packsSteps() || panels * attention.width() * int64_t(sizeof(float)) <= kMostPanelBytes;
  }

  explicit PanelSharing(const Work &work, bool isChosen = true)
      : AttentionSharing(work), bounds(work.bounds), heads(visitedHeads(work)) {
    const TargetProfile &profile = emitter.getProfile();
    if (isChosen) {
      emitter.setMapping(tile::LaneMapping::Rows);
      emitter.setVector({width});
    }
    // The tile is chosen as for matmuls (costOfThreadTile), with two more registers for the softmax.
    int64_t vectors = profile.registers > 16 && profile.vector < 8 ? 4 : 2;
    step = vectors * profile.vector;
    auto mostRows = [&](int64_t vectors) { return (profile.registers - vectors - 2) / vectors; };
    rows = std::min(mostRows(vectors), bounds.maximumOwned());
    tiles = std::min<int64_t>(kTiles, llvm::divideCeil(bounds.maximumOwned(), rows));
    for (; tiles == 1 && !work.isGradient() && 2 * step <= kLongestStep && mostRows(2 * vectors) >= rows; step *= 2)
      vectors *= 2;
    chunk = width % (2 * profile.vector) == 0 ? 2 * profile.vector : profile.vector;
    depth = chunkOf(width, profile.vector, std::max<int64_t>(8, profile.vector));
    columnsAtOnce = chunkOf(width, 1, kColumnsAtOnce);
  }

  std::optional<int64_t> tilesOfWorkgroup() const override { return tiles; }
  bool splitsOffLastStep() const override { return packsSteps(); }

  void beginTiles(const Visited &all, Operation *loop) override {
    visited = all, tileLoop = loop;
    panels.clear();
    turnedPanels.clear();
  }

  void beginStep() override { packedOfStep.clear(); }

  OwnedOperand ownedOperand(Value value, double scale) override {
    Value memory = emitter.sharedTile(emitter.tileType(rows, width)), zero = emitter.index(0);
    forChunks([&](Value column) {
      Place place = owned;
      place.column = emitter.add(owned.column, column), place.columns = chunk;
      Value part = load(value, place);
      tile::StoreOp::create(b, scale == 1 ? part : mul(part, scale), memory, zero, column);
    });
    return [memory] { return memory; };
  }

  /// Returns the panel. The step's part of it is an operand of `products`.
  Value loadVisited(Value value, const AttentionStep &at) override {
    now = &at;
    if (!packsSteps())
      return panelOf(value, /*turned=*/true);
    Value &panel = turnedPanels[value];
    if (!panel) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(tileLoop);
      panel = emitter.sharedTile(emitter.tileType(width, step));
    }
    if (!packedOfStep.insert(value).second)
      return panel;
    int64_t vector = emitter.getProfile().vector;
    emitter.loop(emitter.index(0), rowsOfStep(at), vector, step, [&](Value row) {
      Place place = at.visited;
      place.row = emitter.add(place.row, row), place.rows = vector;
      pack(value, /*turned=*/true, place, panel, emitter.index(0), row);
    });
    return panel;
  }

  Value products(Value ownedRows, Value panel, Value sums) override {
    Value zero = emitter.index(0), first = packsSteps() ? zero : turnedRow(firstOfStep(*now));
    return emitter.loop(zero, emitter.index(width), columnsAtOnce, width, sums ? sums : zeros(),
                        [&](Value k, ValueRange state) -> SmallVector<Value> {
                          Value left = emitter.load(ownedRows, {zero, k, rows, columnsAtOnce, {}, {}}, Padding::Any);
                          Value right = emitter.load(panel, {emitter.add(first, k), zero, columnsAtOnce, step, {}, {}},
                                                     Padding::Any);
                          return {tile::DotOp::create(b, state[0].getType(), left, right, state[0], false, false)};
                        })[0];
  }

  Value beginSums(Value of) override {
    Value &memory = sumsOf[of];
    memory = emitter.sharedTile(emitter.tileType(rows, width));
    forChunks([&](Value column) {
      tile::StoreOp::create(b, emitter.constant(rows, chunk, 0), memory, emitter.index(0), column);
    });
    return AttentionSharing::beginSums(of); // the loop's state, which nothing reads
  }

  Value endSums(Value of, Value) override {
    Value zero = emitter.index(0);
    return emitter.load(sumsOf.at(of), {zero, zero, rows, width, {}, {}}, Padding::Any);
  }

  bool hasSumsInMemory() const override { return true; }

  void scaleSums(Value value, Value factors) override {
    Value sums = sumsOf.at(value), zero = emitter.index(0);
    forChunks([&](Value column) {
      Value before = emitter.load(sums, {zero, column, rows, chunk, {}, {}}, Padding::Any);
      tile::StoreOp::create(b, scaleRows(before, factors), sums, zero, column);
    });
  }

  Value accumulate(Value weights, Value value, const AttentionStep &at, Value accumulator, Value rescale) override {
    assert(!rescale && "sums in memory are scaled by scaleSums");
    Value zero = emitter.index(0), sums = sumsOf.at(value);
    Value panel = packsSteps() ? Value() : panelOf(value, /*turned=*/false);
    Value first = panel ? firstOfStep(at) : Value();
    if (!weightMemory)
      weightMemory = emitter.sharedTile(emitter.tileType(rows, step));
    tile::StoreOp::create(b, weights, weightMemory, zero, zero);
    forChunks([&](Value column) {
      // Adds the weighted sum of `keys` rows, from `key` on in the step.
      auto add = [&](Value sum, Value key, int64_t keys) -> Value {
        Value left = emitter.load(weightMemory, {zero, key, rows, keys, {}, {}}, Padding::Any), right;
        if (panel) {
          right = emitter.load(panel, {emitter.add(first, key), column, keys, chunk, {}, {}}, Padding::Any);
        } else {
          Place place = at.visited; // without a limit: all of the rows exist
          place.row = emitter.add(place.row, key), place.column = emitter.add(place.column, column);
          place.rows = keys, place.columns = chunk, place.rowLimit = {};
          right = load(value, place);
        }
        return tile::DotOp::create(b, sum.getType(), left, right, sum, false, false);
      };
      Value all = emitter.load(sums, {zero, column, rows, chunk, {}, {}}, Padding::Any);
      if (!panel && at.visited.rowLimit)
        all = emitter.loop(zero, rowsOfStep(at), 1, step, all, [&](Value key, ValueRange state) -> SmallVector<Value> {
          return {add(state[0], key, 1)};
        })[0];
      else
        all = addInParts(all, add);
      tile::StoreOp::create(b, all, sums, zero, column);
    });
    return accumulator;
  }

private:
  /// Adds a step's weighted rows to `sums` by `add`, which gets sums, the first row and the number of rows. If the sums
  /// have few vectors, parts of the step have sums of their own.
  Value addInParts(Value sums, function_ref<Value(Value, Value, int64_t)> add) {
    int64_t vectors = rows * chunk / emitter.getProfile().vector, ofPart = step;
    while (packsSteps() && step / ofPart * vectors < kFewestSums && ofPart % (2 * kKeysAtOnce) == 0)
      ofPart /= 2;
    SmallVector<Value> parts{sums};
    while (static_cast<int64_t>(parts.size()) < step / ofPart)
      parts.push_back(emitter.constant(rows, chunk, 0));
    int64_t keys = std::min(kKeysAtOnce, ofPart);
    parts =
        emitter.loop(emitter.index(0), emitter.index(ofPart), keys, ofPart, parts, [&](Value key, ValueRange state) {
          SmallVector<Value> next;
          for (auto [part, sum] : llvm::enumerate(state))
            next.push_back(add(sum, emitter.add(key, emitter.index(part * ofPart)), keys));
          return next;
        });
    for (Value part : ArrayRef(parts).drop_front())
      parts[0] = arith::AddFOp::create(b, parts[0], part);
    return parts[0];
  }

  /// The number of the step's visited rows that are inside their sequence.
  Value rowsOfStep(const AttentionStep &at) {
    Value all = emitter.index(step);
    if (!at.visited.rowLimit)
      return all;
    return b.createOrFold<arith::MinSIOp>(b.createOrFold<arith::SubIOp>(at.visited.rowLimit, at.visited.row), all);
  }

  /// The number of heads that a workgroup visits: all query heads of the group if it owns keys.
  static int64_t visitedHeads(const Work &work) { return work.ownsQueries ? 1 : work.attention.group(); }
  /// Returns true if panels hold a step's rows, not all that the workgroup visits.
  bool packsSteps() const { return tiles == 1; }
  /// The number of rows of a head's panels.
  int64_t panelRows() const {
    int64_t most = bounds.maximumVisited(rows * tiles, step);
    return int64_t(llvm::divideCeil(most, step) + 1) * step;
  }

  void forChunks(function_ref<void(Value)> body) {
    emitter.loop(emitter.index(0), emitter.index(width), chunk, width, {},
                 [&](Value column, ValueRange) -> SmallVector<Value> {
                   body(column);
                   return {};
                 });
  }

  /// The panels' row of the step's first visited row.
  Value firstOfStep(const AttentionStep &at) {
    Value first = b.createOrFold<arith::SubIOp>(at.first, visited.begin);
    return at.member ? emitter.add(first, emitter.mul(at.member, panelRows())) : first;
  }

  /// Returns the row of the transposed memory where the panel begins whose first row is `row`.
  Value turnedRow(Value row) { return emitter.mul(b.createOrFold<arith::DivUIOp>(row, emitter.index(step)), width); }

  /// All rows of `value` that the workgroup's tiles visit, packed ahead of their loop.
  Value panelOf(Value value, bool turned) {
    Value &panel = (turned ? turnedPanels : panels)[value];
    if (panel)
      return panel;
    Value packed = panel = emitter.sharedTile(turned ? emitter.tileType(heads * panelRows() * width / step, step)
                                                     : emitter.tileType(heads * panelRows(), width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(tileLoop);
    Value zero = emitter.index(0);
    emitter.loop(zero, emitter.index(heads), 1, heads, [&](Value member) {
      Value firstRow = emitter.mul(member, panelRows());
      Value firstColumn = emitter.add(visited.column, emitter.mul(member, width));
      emitter.loop(visited.begin, visited.end, step, panelRows(), [&](Value at) {
        Value row = emitter.add(firstRow, b.createOrFold<arith::SubIOp>(at, visited.begin));
        Place place{emitter.add(visited.start, at), firstColumn, step, width, visited.rowLimit, {}};
        pack(value, turned, place, packed, turned ? turnedRow(row) : row);
      });
    });
    return packed;
  }

  /// Packs the rows at a place into a panel, which begins at a row of `panel`. If it is transposed, the first of them
  /// becomes its column `column`, or the first column.
  void pack(Value value, bool turned, const Place &rows, Value panel, Value row, Value column = {}) {
    Value zero = emitter.index(0);
    emitter.loop(zero, emitter.index(width), depth, width, [&](Value k) {
      Place place = rows;
      place.column = emitter.add(place.column, k), place.columns = depth;
      if (turned)
        tile::StoreOp::create(b, emitter.widen(emitter.evaluateTransposed(value, place, Padding::Any)), panel,
                              emitter.add(row, k), column ? column : zero);
      else
        tile::StoreOp::create(b, load(value, place), panel, row, k);
    });
  }

  const AttentionBounds &bounds;
  int64_t heads, tiles, chunk, depth, columnsAtOnce;
  Visited visited{};
  Operation *tileLoop = nullptr;
  const AttentionStep *now = nullptr;
  DenseMap<Value, Value> panels, turnedPanels;
  DenseSet<Value> packedOfStep; // the values whose rows of this step are packed
  DenseMap<Value, Value> sumsOf;
  Value weightMemory;
};

} // namespace

std::unique_ptr<AttentionSharing> heddle::shareByPanels(const AttentionSharing::Work &work) {
  return PanelSharing::suits(work) ? std::make_unique<PanelSharing>(work) : nullptr;
}
