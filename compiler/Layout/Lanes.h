// What the patterns of heddle-lower-to-lanes share: where the executing lane stands and what it holds of a tile.
#ifndef HEDDLE_COMPILER_LAYOUT_LANES_H
#define HEDDLE_COMPILER_LAYOUT_LANES_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::heddle {

/// How a dimension of a tile is distributed over lanes: in turn, `unit` neighbours at a time, or rows in pairs of
/// pieces
/// (#tile.simt). Where all of it lies in each lane, neither matters.
struct DimDistribution {
  int64_t lanes = 1, stride = 1, unit = 1;
  bool paired = false;

  static DimDistribution of(RankedTensorType tile, int dim);
  bool operator==(const DimDistribution &other) const {
    return lanes == other.lanes &&
           (lanes == 1 || (stride == other.stride && unit == other.unit && paired == other.paired));
  }
};

/// Whether each lane has the same elements of both tiles, which have layouts.
bool keepsElements(RankedTensorType a, RankedTensorType b);

/// Whether a reduction is one of a row that all subgroups of a workgroup share: they meet in shared memory.
bool isOfWorkgroup(tile::ReduceOp op, const DimDistribution &reduced);

/// The columns of a tile that all lanes together have in one register each.
int64_t columnsOfRun(RankedTensorType tile);

/// Reports the first tile that has no layout and every op whose operands' layouts it cannot work with. The patterns
/// below rely on it.
LogicalResult checkLayouts(tile::FuncOp kernel);

/// Neighbouring lanes that can exchange registers: those along a row of blocks, else of a subgroup.
int64_t exchangingLanes(tile::FuncOp kernel);

/// The executing lane. Its coordinates are computed once, at the kernel's entry.
class Lanes {
public:
  explicit Lanes(tile::FuncOp kernel);

  int64_t count() const { return workgroup; }
  /// Lanes that can exchange registers.
  int64_t subgroup() const { return exchanging; }
  /// The lane's number in its workgroup.
  Value number() const { return lane; }
  /// Whether copies to shared memory run beside the arithmetic, so that tile.wait has to wait for them, too.
  bool hasCopies() const { return copies; }
  /// Whether tensor cores read operands from shared memory.
  bool hasWarpgroups() const { return ownWarpgroup != nullptr; }
  /// The lane's warpgroup, where `hasWarpgroups()`: a number that is the same in all lanes of a subgroup, and that
  /// ptxas knows to be.
  Value warpgroup() const { return ownWarpgroup; }
  /// Where the lane stands along a dimension distributed like this; null where the dimension lies in each lane.
  Value coordinate(const DimDistribution &distribution) const;

private:
  int64_t workgroup, exchanging;
  bool copies;
  Value lane, ownWarpgroup;
  DenseMap<std::pair<int64_t, int64_t>, Value> coordinates;
};

/// A builder with the abbreviations that the patterns need.
struct LaneBuilder : ImplicitLocOpBuilder {
  LaneBuilder(Location loc, ConversionPatternRewriter &rewriter) : ImplicitLocOpBuilder(loc, rewriter) {}
  LaneBuilder(Location loc, const OpBuilder &builder) : ImplicitLocOpBuilder(loc, builder) {}

  Value index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
  Value constant(Type type, int64_t value);
  Value add(Value base, int64_t offset);
  Value scaled(Value value, int64_t factor) { return createOrFold<arith::MulIOp>(value, index(factor)); }
  Value remainder(Value value, int64_t divisor) { return createOrFold<arith::RemUIOp>(value, index(divisor)); }
  Value less(Value a, Value b) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b); }
  /// The conjunction of conditions, either of which may be null: none.
  Value both(Value a, Value b);
  /// A scalar as a register of `type`: itself, or repeated.
  Value splat(Type type, Value scalar);
  Value extract(Value value, int64_t position);
  /// A register of one scalar an element.
  Value assemble(Type type, ArrayRef<Value> elements);
};

/// Transposes a square of as many registers as each has elements, 4, 8 or 16. First groups of four rows within 128
/// bits, then the groups: each step takes one instruction of x86-64 or AArch64 for a register.
SmallVector<Value> transposeSquare(LaneBuilder &b, ArrayRef<Value> rows);

/// The type of one register of a tile: a scalar, a vector of neighbouring columns, or a cooperative matrix.
Type getRegisterType(RankedTensorType tile);

/// The registers that a lane holds of a tile, row by row.
struct Registers {
  Registers(RankedTensorType tile, ValueRange values) : shape(tile::getLaneShape(tile)), values(values) {}

  Value at(int64_t row, int64_t run) const { return values[row * shape.runs + run]; }
  /// The element in one of the lane's columns.
  Value element(LaneBuilder &b, int64_t row, int64_t column) const {
    return b.extract(at(row, column / shape.vector), column % shape.vector);
  }

  tile::LaneShape shape;
  ValueRange values;
};

/// The indices of a lane's elements, given those of the tile's first element.
class LanePlace {
public:
  LanePlace(LaneBuilder &b, const Lanes &lanes, RankedTensorType tile, Value row, Value column);

  Value row(LaneBuilder &b, int64_t i) const {
    constexpr int64_t piece = tile::SimtAttr::kFragmentPiece;
    return b.add(firstRow, paired ? i / 2 * 2 * rowStep + i % 2 * piece : i * rowStep);
  }
  Value column(LaneBuilder &b, int64_t run, int64_t element = 0) const {
    return b.add(firstColumn, run * runStep + element);
  }

private:
  Value firstRow, firstColumn;
  int64_t rowStep, runStep;
  bool paired;
};

/// Where a row of tiles is in a matrix whose rows have several of them: its row there, and how much further right its
/// columns are; null: no further.
struct MemberPlace {
  Value row, shift;

  template <typename Op> static MemberPlace of(LaneBuilder &b, Op op, Value row) {
    if (op.getMembers() == 1)
      return {row, {}};
    auto members = static_cast<int64_t>(op.getMembers()), apart = static_cast<int64_t>(op.getApart());
    return {b.createOrFold<arith::DivUIOp>(row, b.index(members)), b.scaled(b.remainder(row, members), apart)};
  }
  Value column(LaneBuilder &b, Value column) const {
    return shift ? b.createOrFold<arith::AddIOp>(column, shift) : column;
  }
};

template <typename Op> struct LanePattern : OpConversionPattern<Op> {
  LanePattern(const TypeConverter &converter, MLIRContext *context, const Lanes &lanes, PatternBenefit benefit = 1)
      : OpConversionPattern<Op>(converter, context, benefit), lanes(lanes) {}
  const Lanes &lanes;
};

void populateLaneMemoryPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneArithmeticPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneFragmentPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneWarpgroupPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneCooperativePatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneProductPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);

/// The draws whose registers hold words of one counter each. They are found before the conversion, which takes
/// away the ops that tell where a tile comes from.
DenseSet<Operation *> findWholeCounters(tile::FuncOp kernel);
void populateLaneRandomPatterns(const TypeConverter &converter, const Lanes &lanes,
                                const DenseSet<Operation *> &wholeCounters, RewritePatternSet &patterns);

} // namespace mlir::heddle

#endif
