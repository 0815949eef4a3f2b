// Turns one heddle.kernel into one tile.func. Holds the services that the emission of every kernel uses.
#pragma once

#include "compiler/Analysis/Kernels/KernelInterfaces.h"
#include "compiler/Kernel/Tiling/Frames/MatrixTile.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {

/// A tensor as kernels see it: a row-major matrix. `size` names the number of rows if it is known only at run time. A
/// tensor<T x H x K> is a matrix of H parts of K columns, side by side. No tile reaches from one part into the next.
struct Matrix {
  int64_t rows;
  int64_t columns;
  StringRef size;
  int64_t parts = 1;

  static FailureOr<Matrix> of(RankedTensorType type);
  bool isDynamic() const { return !size.empty(); }
  int64_t partColumns() const { return columns / parts; }
  bool operator==(const Matrix &other) const {
    return rows == other.rows && columns == other.columns && size == other.size && parts == other.parts;
  }
};

/// The part of a matrix that a tile covers: `rows` x `columns` elements from (row, column) on. Elements at or past a
/// limit do not exist. Without a limit the whole tile lies inside the matrix.
struct Place {
  Value row, column;
  int64_t rows, columns;
  Value rowLimit, columnLimit;
  Value part = {};                // the number of the matrix part that it lies in, if known
  int64_t members = 1, apart = 0; // tile rows per matrix row; columns between them (tile.load)

  bool operator==(const Place &other) const;
};

/// Elements past a limit read as zero, or as anything if nothing depends on them.
enum class Padding { Zero, Any };

class KernelEmitter {
public:
  /// `choices` may be null.
  KernelEmitter(KernelOp kernel, const TargetProfile &profile, const llvm::StringMap<int64_t> &maxima,
                TileChoices *choices);

  /// Emits the kernel's function, which belongs to no module yet. Fails after it has emitted an error.
  FailureOr<tile::FuncOp> emit();

  /// The grid, and the names of the sizes that follow the matrices among the function's arguments. Valid after `emit`.
  ArrayAttr getGrid();
  ArrayAttr getSizes();
  /// For an elementwise kernel: the grid axis along which workgroups share its tensors' rows (or elements, if they are
  /// vectors), and the number of rows per workgroup.
  struct RowGrid {
    int64_t axis, tile;
  };
  std::optional<RowGrid> getRowGrid() const { return rowGrid; }

  //===-- Decisions of an anchor ------------------------------------------------------------------------------===//

  void setMapping(tile::LaneMapping mapping) { this->mapping = mapping, parts = {}; }
  /// Distributes tiles of matmuls as tensor cores need them. Several subgroups share a tile.
  void setTensorTiles(int64_t subgroups);
  /// Distributes tiles of matmuls as blocks: the lanes of several subgroups share their rows and columns. Operands come
  /// through shared memory.
  void setBlocks();
  /// `lanes` lanes share each row. The workgroup's other lanes share further rows in the same way.
  void setQuads(int64_t lanes);
  /// Puts several subgroups into a workgroup instead of launching `groups` workgroups of one subgroup. Each subgroup
  /// has rows of its own (or columns, if tiles have one row). There are as many subgroups as leave work for all of the
  /// device's processors. Returns their number.
  int64_t joinSubgroups(int64_t groups);
  /// Sets the number of subgroups per workgroup.
  void setSubgroups(int64_t count);
  int64_t getSubgroups() const { return workgroup / profile.lanes; }
  /// Sets the maximum number of result columns that are finished at a time.
  void setPartColumns(int64_t columns) { partColumns = columns; }
  /// Sets how many adjacent columns a register holds: at most the profile's width, and a divisor of each of `widths`.
  void setVector(ArrayRef<int64_t> widths);
  /// Sets the profile's vector width, regardless of the matrices' widths, if the target masks tails. Columns that are
  /// cut or joined inside the kernel still narrow it.
  void setWholeVector();
  /// Does the same for kernels without matmuls if the kernel's matrices have 32-bit elements, and returns true then.
  /// Narrower elements would be moved one by one where a vector is masked.
  bool setMaskedVector();
  /// Narrows the vector, but not below `fewest`, if rows of `width` columns would otherwise leave some of the lanes
  /// that share them without elements.
  void narrowVector(int64_t width, int64_t fewest = 1);
  int64_t getVector() const { return vector; }
  int64_t getLanes() const { return profile.lanes; }
  const TargetProfile &getProfile() const { return profile; }
  /// Returns true if the target's tensor cores compute a matmul, given one of its operands. Otherwise lanes do, in f32.
  bool usesTensorCores(Operation *product, Value operand) const;

  /// Returns true if all values of the kernel except the anchor's are computed element by element, wherever a tile's
  /// rows come from.
  bool isElementwiseAround(Operation *anchor);

  /// Returns true if the kernel reads 16-bit operands. Operands that are read only by Adam do not count.
  bool readsHalves();

  MatrixTile chooseTile(const Product &product) const { return heddle::chooseTile(profile, product, choices); }

  /// Sets the workgroups along `axis`: one for each `tile` of `size` (or of `extent`, if `size` is empty), times
  /// `repeat`. Returns this workgroup's number. If a target starts too few along an axis, a constant number of workgroups
  /// is shared with the last axis.
  Value setGrid(int axis, int64_t extent, StringRef size, int64_t tile, int64_t repeat = 1);

  //===-- Values ----------------------------------------------------------------------------------------------===//

  ImplicitLocOpBuilder &builder() { return b; }
  Value index(int64_t value);
  Value mul(Value a, int64_t factor);
  Value add(Value a, Value b);
  /// A run-time size, passed as an argument.
  Value size(StringRef name);
  int64_t maximumOf(StringRef size) const;
  /// Returns `value` as an i32 argument that is passed like a size. Kernels that differ only in such numbers share one
  /// program.
  Value number(int64_t value);
  /// Returns true if a launch can take one more argument, besides the two sizes that a kernel may still need. An
  /// artifact holds 16 arguments per launch, however many the target takes.
  bool hasRoomForNumber() {
    constexpr int64_t mostOfArtifact = 16;
    return static_cast<int64_t>(func.getNumArguments()) + 3 <= std::min(profile.limits.bindings, mostOfArtifact);
  }
  /// The stream of random numbers for one head of attention. Other sites have small stream numbers. The heads of a site
  /// take numbers far above them.
  Value streamOfHead(int64_t stream, Value head);
  const llvm::StringMap<int64_t> &getNumbers() const { return numbers; }
  /// The number of rows of a matrix, and its maximum.
  Value rowsOf(const Matrix &matrix);
  int64_t maximumRows(const Matrix &matrix) const;
  /// The minimum number of rows of a tile that `subgroups` subgroups share. With fewer rows a launch would need more
  /// workgroups than the target allows.
  int64_t fewestRows(const Matrix &matrix, int64_t subgroups) const;

  RankedTensorType tileType(int64_t rows, int64_t columns, Type element = {});
  /// Converts a tile of 16-bit operands to f32, in which lanes multiply. Returns other tiles unchanged.
  Value widen(Value tile);
  /// A tile filled with one f32 value, or with one i32 value.
  Value constant(int64_t rows, int64_t columns, double value);
  Value constantInt(int64_t rows, int64_t columns, int64_t value);
  Value broadcast(Value tile, int64_t rows, int64_t columns);
  /// Converts uniform numbers in [0, 1) to Gumbel noise, which is finite.
  Value gumbel(Value uniform);
  Value reduce(tile::Combine combine, Value tile, int64_t dim);
  /// Replaces the elements of `tile` past the row limit by zero: a prologue may map zero to another value.
  Value insideRows(Value tile, const Place &place);
  /// Element indices of `place` along `dim`, as i32: a column (dim 0) or a row (dim 1).
  Value indices(const Place &place, int64_t dim);
  /// Computes a region on scalars for whole tiles, given the tiles of its arguments. Returns the tile of the yielded
  /// value.
  Value inlineRegion(Region &region, ArrayRef<Value> arguments);

  //===-- Memory ----------------------------------------------------------------------------------------------===//

  /// Returns true if the value is an operand of the kernel. Values computed inside the kernel have no memory.
  bool isInMemory(Value value) { return memory.contains(value); }
  /// Returns the memory of an operand of the kernel. For any other value it emits an error and returns a placeholder.
  /// `memoryOfResult` returns the memory of a result, or null if `value` is not a result.
  Value memoryOf(Value value);
  Value memoryOfResult(Value value);
  /// Sets the memory of an operand or of a result. If it is set for a result, `finish` writes no other results than those
  /// for which it is set.
  void setMemory(Value value, Value chosen);
  Value load(Value memory, const Place &place, Padding padding = Padding::Zero, bool transposed = false);
  /// Allocates shared memory for `tiles` tiles of a type. Rows are padded so that adjacent rows begin in different
  /// banks.
  Value sharedTile(RankedTensorType type, int64_t tiles = 1);
  /// Asks the processor to load `columns` elements of `rows` rows into its caches. The rows need not exist.
  void prefetch(Value memory, Value row, Value column, int64_t rows, int64_t columns);
  /// Returns the only element of a tile. For threads only: it goes through scratch memory.
  Value onlyElement(Value tile);
  /// Loads one i32 of a vector as an index: a sequence's start or length.
  Value loadIndex(Value value, Value position);
  /// Returns `condition`, and also checks that the sequence exists if `starts` is computed inside the kernel. A step of
  /// a recurrence has fewer sequences than its launch has workgroups for.
  Value isSequence(Value starts, Value sequence, Value condition);
  /// Loads one element of a scalar or a row.
  Value loadScalar(Value value, int64_t position) { return loadScalar(value, index(position)); }
  Value loadScalar(Value value, Value position);

  /// Returns the tile of any value of the kernel at a place. It is loaded, or computed from the value's operands at
  /// that place.
  Value evaluate(Value value, const Place &place, Padding padding = Padding::Zero);
  /// The same, transposed. For threads only: a computed tile is transposed through scratch memory.
  Value evaluateTransposed(Value value, const Place &place, Padding padding);
  /// Records the tile that an anchor has computed for one of its results at a place. `evaluate` and `finish` use it.
  void define(Value result, const Place &place, Value tile);
  /// Returns true if a result of the kernel is computed on a tensor of this shape, even if it is stored as part of a
  /// wider tensor.
  bool hasResultOn(RankedTensorType type);
  /// Writes the tile if `value` is a result of the kernel.
  void store(Value value, Value tile, const Place &place);
  /// Computes the epilogue at a place, and writes every result of the kernel that is computed on a matrix like
  /// `matrix`.
  LogicalResult finish(const Matrix &matrix, const Place &place);
  /// The same, but only for results that are computed on a tensor of this shape. Tensors of other shapes may have the
  /// same matrix.
  LogicalResult finish(RankedTensorType type, const Place &place);

  //===-- Sums over rows on the way (heddle-join-sums) ---------------------------------------------------------===//

  /// The kernel's partial sums, if another op is its anchor.
  SmallVector<PartialSumsOp> partialSums();
  /// From then on `finish` adds up the rows of the input of `sums`, and writes a row for each subgroup to `rows`, from
  /// row `row` on. The memory's columns begin with column `from` of the result; null: with its first.
  void sumRows(PartialSumsOp sums, Value rows, Value row, Value from = {});
  /// Adds up the first `rows` rows of shared memory.
  Value addRows(Value shared, int64_t rows, int64_t columns);

  //===-- Loops -----------------------------------------------------------------------------------------------===//

  /// for (i = begin; i < end; i += step) state = body(i, state). `maximum` bounds end - begin at compile time. If the
  /// target limits iterations, a kernel that might exceed the limit is refused.
  SmallVector<Value> loop(Value begin, Value end, int64_t step, int64_t maximum, ValueRange state,
                          function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// The same without a state.
  void loop(Value begin, Value end, int64_t step, int64_t maximum, function_ref<void(Value)> body);
  /// Returns the smallest multiple of `step` that covers `maximum` within the target's limit on iterations, if `loops`
  /// loops of the kernel share the limit.
  int64_t stepFor(int64_t maximum, int64_t step, int64_t loops = 1) const;

  /// Reports an error at the kernel and makes `emit` fail.
  InFlightDiagnostic fail();

private:
  /// Defines, at `part`, the columns from `from` on of all tiles that are known at `whole`.
  void definePart(const Place &whole, const Place &part, int64_t from);
  LogicalResult finishPart(const Matrix &matrix, const Place &place);
  /// A value that is stored into a result's memory, from column `firstColumn` on. If `firstRow` is set, its rows begin
  /// at that row, which is known at run time.
  struct Destination {
    Value value, memory, firstRow;
    int64_t firstColumn = 0;
    Value indices = {}; // row numbers in the memory, if the rows are not contiguous
  };
  void findDestinations(const Destination &whole, SmallVectorImpl<Destination> &parts);
  LogicalResult emitElementwise();
  SmallVector<Value> compute(Operation *op, const Place &place);

  KernelOp kernel;
  const TargetProfile &profile;
  const llvm::StringMap<int64_t> &maxima;
  TileChoices *choices;
  ImplicitLocOpBuilder b;
  tile::FuncOp func;
  tile::LaneMapping mapping = tile::LaneMapping::Columns;
  int64_t vector = 1;
  SmallVector<int64_t> cuts;       // widths at which columns are cut and joined
  std::optional<int64_t> rowLanes; // lanes that share a row, in quads
  int64_t workgroup;               // lanes of a workgroup
  /// How `finish` cuts a tile: into parts of `elements` elements a lane (0: it stays whole), with one register at least
  /// for each of `alongRow` lanes. If `areSums`, only the sums are cut: other tiles, which are loaded, have other layouts.
  struct {
    int64_t elements = 0, alongRow = 0;
    bool areSums = false;
  } parts;
  std::optional<int64_t> partColumns;
  RankedTensorType finished; // the shape that `finish` is limited to; null: any with the same matrix
  int64_t trips = 0;         // maximum iterations of all loops of an invocation
  int64_t repeats = 1;       // maximum runs of the code at the insertion point
  bool failed = false;
  SmallVector<Attribute> grid;
  std::optional<RowGrid> rowGrid;
  llvm::MapVector<StringRef, Value> sizes;
  llvm::StringMap<int64_t> numbers;      // by the name of the size that carries the number
  DenseMap<Value, Value> memory;         // of operands
  DenseMap<Value, Value> memoryOfChosen; // of results, if it is set
  struct RowSums {
    PartialSumsOp op;
    Value memory, row, from;
  };
  SmallVector<RowSums> rowSums;
  SmallVector<std::tuple<Value, Place, Block *, Value>> tiles;
};

/// The largest divisor of `extent` that is a multiple of `vector` and at most `limit`.
int64_t chunkOf(int64_t extent, int64_t vector, int64_t limit);

} // namespace mlir::heddle
