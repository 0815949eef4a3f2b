// Software pipelining: the operands of a loop come to shared memory ahead of their use.
//
// for (k) {                      bring the first tiles to their rings
//   a = load A[.., k]            for (k, numbers of tiles) {
//   ..dot a..            ->        wait                    // tile k is in its ring, tile k - 1 is no longer read
// }                                a = load ring[..]
//                                  ..dot a..
//                                  bring a later tile
//                                }
#pragma once

#include "compiler/Lanes/StageOperands.h"

namespace mlir::heddle {

/// Rebuilds the loops of a kernel. Subclasses say which loads read rings of tiles in shared memory, and how the tiles
/// come there.
class LoopPipeline {
public:
  explicit LoopPipeline(tile::FuncOp kernel) : kernel(kernel), b(kernel.getLoc(), kernel) {}
  virtual ~LoopPipeline() = default;

  void run();

protected:
  /// A load of the loop, and the ring that it will read.
  struct Stage {
    tile::LoadOp load;
    RankedTensorType tile;      // as it lies in the ring
    bool isTurned;              // the load from the ring transposes the tile
    std::optional<size_t> same; // the number of an earlier stage whose ring it reads, if any
    Value ring = {};

    /// The place in the ring of the tile with a number.
    Value rowOf(ImplicitLocOpBuilder &b, Value number) const {
      return arith::MulIOp::create(b, number, constant(b, tile.getDimSize(0)));
    }
  };
  /// Sets `staged` to the chosen loads of the loop. Tiles lie in their rings as in memory, or as they are loaded.
  void choose(function_ref<bool(tile::LoadOp)> isChosen, bool asInMemory);
  /// Sets the rings that `staged` reads. `make` returns the ring of a stage that does not share an earlier one's.
  void makeRings(function_ref<Value(const Stage &)> make);
  /// Returns the stage of a load's result, or null.
  const Stage *find(Value loaded) const;
  /// Loads a tile, or a part of it, from a ring.
  Value read(const Stage &stage, RankedTensorType type, Value row, int64_t column = 0);

  /// Where a load of the loop reads.
  struct Source {
    Value row, column, rowLimit, columnLimit;
  };
  /// Returns the place for the counter's value in `mapping`.
  Source sourceOf(tile::LoadOp load, IRMapping &mapping);

  /// The bounds of the rebuilt loop, and the first values of the numbers of tiles that it carries.
  struct Start {
    Value from, to, by;
    SmallVector<Value> numbers;
  };
  /// Returns the bounds of the rebuilt loop, and sets `upper`. With `runsOnce` the loop runs at least once, and counts its
  /// steps to show that to LLVM: if it might not run, the accumulators of a warpgroup would leave it through moves, and
  /// ptxas would wait for each product. Operands of a step that there would not be must read as zeros.
  Start beginSteps(bool runsOnce);
  /// Returns the old loop's counter, given the counter of the rebuilt loop.
  Value counterOf(Value counter);
  /// Makes the rings of `loop` at the builder's place, the start of the kernel, and fills them before the loop. Returns
  /// nothing if the loop stays as it is.
  virtual std::optional<Start> beginLoop() = 0;
  /// Begins a step. Returns the old loop's counter.
  virtual Value beginStep(Value counter, ValueRange numbers) = 0;
  /// Replaces an op of the old loop, and maps its results. Returns false if the op stays as it is.
  virtual bool replace(Operation &op, IRMapping &mapping) = 0;
  /// Ends a step. Returns the numbers of the next step.
  virtual SmallVector<Value> endStep() = 0;
  /// Called behind the rebuilt loop. May replace its results.
  virtual void endLoop(MutableArrayRef<Value> results) {}

  tile::FuncOp kernel;
  ImplicitLocOpBuilder b;
  scf::ForOp loop; // the loop that is being rebuilt
  SmallVector<Stage> staged;
  Value upper; // the end of the steps

private:
  void rebuild();

  bool isCounted = false;
};

/// Pipelines the loops of a kernel on fragments: asynchronous copies fill the rings.
void stageByCopies(tile::FuncOp kernel, const TargetProfile &profile);

/// Pipelines the loops of a kernel on fragments whose f32 operands warpgroups can multiply as tf32.
void stageRounded(tile::FuncOp kernel, const TargetProfile &profile);

/// Pipelines the loops of a kernel in blocks or on cooperative matrices: lanes load a tile into registers a step ahead.
void stageThroughRegisters(tile::FuncOp kernel, bool hasMatrices);

} // namespace mlir::heddle
