// Turns one heddle.kernel into one tile.func: the services that every kernel's emission shares.
#ifndef HEDDLE_COMPILER_TILING_KERNELEMITTER_H
#define HEDDLE_COMPILER_TILING_KERNELEMITTER_H

#include "compiler/Kernels/KernelInterfaces.h"
#include "compiler/Tiling/MatrixTile.h"
#include "dialects/Heddle/Heddle.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::heddle {

/// A tensor as kernels see it: a row-major matrix. `size` names the number of rows where it is known at run time only.
/// A tensor<T x H x K> is a matrix of H parts of K columns side by side; no tile of it reaches from one into the next.
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

/// Part of a matrix that a tile covers: `rows` x `columns` elements from (row, column) on, of which those at or past a
/// limit do not exist. No limit means that the whole tile lies inside.
struct Place {
  Value row, column;
  int64_t rows, columns;
  Value rowLimit, columnLimit;
  Value part = {};                // the number of the part that it lies in, where the kernel has it at hand
  int64_t members = 1, apart = 0; // tile rows in a row of the matrix; columns from one to the next (tile.load)

  bool operator==(const Place &other) const;
};

/// Whether elements past a limit must read as zero, or may be anything because nothing depends on them.
enum class Padding { Zero, Any };

class KernelEmitter {
public:
  /// `choices` may be null.
  KernelEmitter(KernelOp kernel, const TargetProfile &profile, const llvm::StringMap<int64_t> &maxima,
                TileChoices *choices);

  /// Emits the kernel's function, detached; failure after an emitted error.
  FailureOr<tile::FuncOp> emit();

  /// The grid and the names of the sizes that the function takes after its matrices, once it is emitted.
  ArrayAttr getGrid();
  ArrayAttr getSizes();
  /// Of an elementwise kernel: the axis along which workgroups share its tensors' rows (elements, where they are
  /// vectors), and how many each has.
  struct RowGrid {
    int64_t axis, tile;
  };
  std::optional<RowGrid> getRowGrid() const { return rowGrid; }

  //===-- What an anchor decides ------------------------------------------------------------------------------===//

  void setMapping(tile::LaneMapping mapping) { this->mapping = mapping; }
  /// Tiles of products are distributed as tensor cores want them, and several subgroups share them.
  void setTensorTiles(int64_t subgroups);
  /// Tiles of products are blocks that the lanes of several subgroups share out along rows and columns; their operands
  /// come through shared memory.
  void setBlocks();
  /// So many lanes share each row, in turn with others that share further rows.
  void setQuads(int64_t lanes);
  /// Several subgroups a workgroup, each with rows of its own (or columns, where tiles have one row), instead of
  /// `groups` workgroups of a subgroup: as many as leave work for all of the device's processors. Returns their number.
  int64_t joinSubgroups(int64_t groups);
  /// `count` subgroups a workgroup.
  void setSubgroups(int64_t count);
  /// How many columns of the results are finished at a time, at most.
  void setPartColumns(int64_t columns) { partColumns = columns; }
  /// How many neighbouring columns one register holds: at most the profile's width, dividing each of `widths`.
  void setVector(ArrayRef<int64_t> widths);
  /// Sets the profile's width, whatever the matrices' widths are, if the target masks tails. Columns that are cut or
  /// joined inside of the kernel still narrow it.
  void setWholeVector();
  /// Fewer, but not fewer than `fewest`, where rows of `width` would else leave lanes that share them without elements.
  void narrowVector(int64_t width, int64_t fewest = 1);
  int64_t getVector() const { return vector; }
  int64_t getLanes() const { return profile.lanes; }
  const TargetProfile &getProfile() const { return profile; }
  /// Whether the target's tensor cores compute a product, given one of its operands. Otherwise lanes do, in f32.
  bool usesTensorCores(Operation *product, Value operand) const;

  /// Whether all values of the kernel but its anchor's are computed element by element, wherever a tile's rows come
  /// from.
  bool isElementwiseAround(Operation *anchor);

  /// Whether there are operands of 16 bits.
  bool readsHalves();

  MatrixTile chooseTile(const Product &product) const { return heddle::chooseTile(profile, product, choices); }

  /// Workgroups along `axis`: one for each `tile` of `extent`, times `repeat`. Returns this workgroup's number.
  Value setGrid(int axis, int64_t extent, StringRef size, int64_t tile, int64_t repeat = 1);

  //===-- Values ----------------------------------------------------------------------------------------------===//

  ImplicitLocOpBuilder &builder() { return b; }
  Value index(int64_t value);
  Value mul(Value a, int64_t factor);
  Value add(Value a, Value b);
  /// A run-time size, passed as an argument.
  Value size(StringRef name);
  int64_t maximumOf(StringRef size) const;
  /// A number by which kernels of the same program differ, as i32: passed like a size, so that they share one program.
  Value number(int64_t value);
  /// Whether a launch takes one more argument, beside the two sizes that a kernel may still need. An artifact holds 16
  /// of each launch, however many the target takes.
  bool hasRoomForNumber() {
    constexpr int64_t mostOfArtifact = 16;
    return static_cast<int64_t>(func.getNumArguments()) + 3 <= std::min(profile.maxBindings, mostOfArtifact);
  }
  /// The stream of random numbers of one head of attention. Those of other sites are small numbers: a site's heads take
  /// numbers far above them.
  Value streamOfHead(int64_t stream, Value head);
  const llvm::StringMap<int64_t> &getNumbers() const { return numbers; }
  /// The number of rows of a matrix, and the most that it can be.
  Value rowsOf(const Matrix &matrix);
  int64_t maximumRows(const Matrix &matrix) const;
  /// The fewest rows of a tile that `subgroups` share, of which a launch then has no more than it can.
  int64_t fewestRows(const Matrix &matrix, int64_t subgroups) const;

  RankedTensorType tileType(int64_t rows, int64_t columns, Type element = {});
  /// A tile of 16-bit operands as lanes multiply them: in f32. Others are left as they are.
  Value widen(Value tile);
  /// A tile of one f32, i32 or i1 value.
  Value constant(int64_t rows, int64_t columns, double value);
  Value constantInt(int64_t rows, int64_t columns, int64_t value);
  Value broadcast(Value tile, int64_t rows, int64_t columns);
  /// Gumbel's noise of uniform numbers in [0, 1); it is finite.
  Value gumbel(Value uniform);
  Value reduce(tile::Combine combine, Value tile, int64_t dim);
  /// Element indices of `place` along `dim` as i32, as a column (dim 0) or a row (dim 1) of numbers.
  Value indices(const Place &place, int64_t dim);
  /// The value that a region on scalars yields, computed for whole tiles, of which `arguments` are some.
  Value inlineRegion(Region &region, ArrayRef<Value> arguments);

  //===-- Memory ----------------------------------------------------------------------------------------------===//

  /// Whether a value is an operand of the kernel; one that is computed inside has no memory.
  bool isInMemory(Value value) { return memory.contains(value); }
  /// The memory of an operand of the kernel: of another value, anything of its type after an error. And that of a
  /// result.
  Value memoryOf(Value value);
  Value memoryOfResult(Value value);
  Value load(Value memory, const Place &place, Padding padding = Padding::Zero, bool transposed = false);
  /// Shared memory for tiles of a type, rows apart so that neighbours begin in different banks.
  Value sharedTile(RankedTensorType type, int64_t tiles = 1);
  /// One i32 of a vector, as an index: a sequence's start or length.
  Value loadIndex(Value value, Value position);
  /// Whether there is a sequence of this number, where `starts` are numbered in the kernel: a step of a recurrence has
  /// fewer sequences than its launch has workgroups for. `condition` besides.
  Value isSequence(Value starts, Value sequence, Value condition);
  Value loadScalar(Value value, int64_t position);

  /// The tile of any value of the kernel at a place: loaded, or computed from its operands at that place.
  Value evaluate(Value value, const Place &place, Padding padding = Padding::Zero);
  /// The same, transposed. Threads only: a computed tile is transposed by way of scratch memory.
  Value evaluateTransposed(Value value, const Place &place, Padding padding);
  /// What an anchor has computed for one of its results at a place; `evaluate` and `finish` find it there.
  void define(Value result, const Place &place, Value tile);
  /// Whether a result of the kernel is computed on a tensor of this shape, even if it is stored as part of a wider one.
  bool hasResultOn(RankedTensorType type);
  /// Writes a result of the kernel, if it is one.
  void store(Value value, Value tile, const Place &place);
  /// Computes the epilogue at a place and writes every result of the kernel that has the extent of `matrix`.
  LogicalResult finish(const Matrix &matrix, const Place &place);
  /// The same for results that are computed on a tensor of this type: where rows of others have as many columns.
  LogicalResult finish(RankedTensorType type, const Place &place);

  //===-- Loops -----------------------------------------------------------------------------------------------===//

  /// for (i = begin; i < end; i += step) state = body(i, state). `maximum` bounds end - begin at compile time: a target
  /// with a limit on iterations refuses a kernel that might exceed it.
  SmallVector<Value> loop(Value begin, Value end, int64_t step, int64_t maximum, ValueRange state,
                          function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// The smallest multiple of `step` by which `maximum` is covered within the target's limit on iterations, given that
  /// `loops` loops of the kernel share it.
  int64_t stepFor(int64_t maximum, int64_t step, int64_t loops = 1) const;

  /// Reports an error at the kernel and makes `emit` fail.
  InFlightDiagnostic fail();

private:
  /// The part of the tiles known at a place that begins at a column of them.
  void definePart(const Place &whole, const Place &part, int64_t from);
  LogicalResult finishPart(const Matrix &matrix, const Place &place);
  /// A value that goes into the memory of a result: from a row on that is known at run time, where there is one, and
  /// from a column on.
  struct Destination {
    Value value, memory, firstRow;
    int64_t firstColumn = 0;
    Value indices = {}; // of the rows there, where they are no neighbours
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
  int64_t workgroup;               // lanes
  std::optional<int64_t> partColumns;
  RankedTensorType finished; // what results are computed on that are being finished; null: any of their matrix
  int64_t trips = 0;         // that one invocation's loops make at most, all together
  int64_t repeats = 1;       // of the code at the insertion point, by the loops around it
  bool failed = false;
  SmallVector<Attribute> grid;
  std::optional<RowGrid> rowGrid;
  llvm::MapVector<StringRef, Value> sizes;
  llvm::StringMap<int64_t> numbers; // by the name of the size that carries it
  DenseMap<Value, Value> memory;
  SmallVector<std::tuple<Value, Place, Block *, Value>> tiles;
};

/// The largest divisor of `extent` that is a multiple of `vector` and at most `limit`.
int64_t chunkOf(int64_t extent, int64_t vector, int64_t limit);

/// Attach the models of Kernels/KernelInterfaces.td to the dialects' ops.
void registerDrawKernels(DialectRegistry &registry);
void registerElementwiseTiles(DialectRegistry &registry);
void registerMatrixKernels(DialectRegistry &registry);
void registerPoolingKernels(DialectRegistry &registry);
void registerRecurrenceKernels(DialectRegistry &registry);
void registerRowKernels(DialectRegistry &registry);
void registerSelectionKernels(DialectRegistry &registry);
void registerAttentionKernels(DialectRegistry &registry);
void registerScoreKernels(DialectRegistry &registry);
void registerScatterKernels(DialectRegistry &registry);
void registerWindowTiles(DialectRegistry &registry);
} // namespace mlir::heddle

#endif
