// Shared by the patterns of heddle-lower-to-lanes: the executing lane's coordinates, and the elements of a tile that it
// holds.
#pragma once

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::heddle {

inline RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

/// Returns true if each lane holds the same elements of both tiles, which must have layouts.
bool keepsElements(RankedTensorType a, RankedTensorType b);

/// Returns true if all subgroups of a workgroup share the reduced row, so that their parts are combined in shared
/// memory.
bool isOfWorkgroup(tile::ReduceOp op, const tile::Distribution &reduced);

/// Returns true if the reduction leaves a row for each subgroup.
inline bool isOfSubgroups(tile::ReduceOp op) { return op.getType().getDimSize(static_cast<unsigned>(op.getDim())) > 1; }

/// The number of columns of a tile that all lanes together hold in one register each.
int64_t columnsOfRun(RankedTensorType tile);

/// Reports the first tile without a layout, or the first op that cannot work with its operands' layouts. The patterns
/// below rely on this check.
LogicalResult checkLayouts(tile::FuncOp kernel);

/// The number of neighbouring lanes that can exchange registers.
int64_t exchangingLanes(tile::FuncOp kernel);

/// The executing lane. Its coordinates are computed once, at the kernel's entry.
class Lanes {
public:
  explicit Lanes(tile::FuncOp kernel);

  int64_t count() const { return workgroup; }
  /// The number of lanes that can exchange registers.
  int64_t subgroup() const { return exchanging; }
  /// The lane's number in its workgroup.
  Value number() const { return lane; }
  /// Returns true if asynchronous copies to shared memory run, so that tile.wait has to wait for them, too.
  bool hasCopies() const { return copies; }
  /// Returns true if tensor cores read operands from shared memory.
  bool hasWarpgroups() const { return ownWarpgroup != nullptr; }
  /// The lane's warpgroup, null unless `hasWarpgroups()`. ptxas knows that it is the same in all lanes of a subgroup.
  Value warpgroup() const { return ownWarpgroup; }
  /// The lane's coordinate along a dimension with this distribution; null if each lane has the whole dimension.
  Value coordinate(const tile::Distribution &distribution) const;

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
  /// The conjunction of two conditions; a null condition is always true.
  Value both(Value a, Value b);
  /// A scalar as a register of `type`: the scalar itself, or a vector that repeats it.
  Value splat(Type type, Value scalar);
  Value extract(Value value, int64_t position);
  /// A register of `type` with one scalar per element.
  Value assemble(Type type, ArrayRef<Value> elements);
};

/// Transposes a square of n registers with n elements each; n is 4, 8 or 16. It first transposes groups of four rows
/// within 128 bits and then exchanges the groups. Each step takes one x86-64 or AArch64 instruction per register.
SmallVector<Value> transposeSquare(LaneBuilder &b, ArrayRef<Value> rows);

/// Splits x and y into groups of n = places.size() elements. Each group of the result comes from the groups of x and y at
/// the same position: place i < n is element i of x's group, and place n + i is element i of y's.
Value shuffleGroups(LaneBuilder &b, Value x, Value y, ArrayRef<int64_t> places);

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

/// Computes the indices of a lane's elements from those of the tile's first element.
class LanePlace {
public:
  LanePlace(LaneBuilder &b, const Lanes &lanes, RankedTensorType tile, Value row, Value column);

  Value row(LaneBuilder &b, int64_t i) const { return b.add(firstRow, rows.step(i)); }
  Value column(LaneBuilder &b, int64_t run, int64_t element = 0) const {
    return b.add(firstColumn, columns.step(run) + element);
  }

private:
  tile::Distribution rows, columns;
  Value firstRow, firstColumn;
};

/// The place of a tile's row in a matrix whose rows hold several tile rows each: the matrix's row, and the offset of
/// the columns in it; null: no offset.
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

/// The registers that replace a lowered op's results, none if it has no results; failure if another lowering takes it.
using Lowered = FailureOr<SmallVector<Value>>;

/// An op's operands as the registers that hold them.
template <typename Op> using RegistersOf = typename OpConversionPattern<Op>::OneToNOpAdaptor;

/// Returns true if a tile among the op's operands and results has a layout of this kind.
template <typename Layout> bool hasLayout(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), tile::getLayout<Layout>) ||
         llvm::any_of(op->getResultTypes(), tile::getLayout<Layout>);
}

/// Lowers one kind of op to one lane by a function: an op on tiles with a layout of this kind, or, without one, any op.
template <typename Op, typename Layout> struct LanePattern : OpConversionPattern<Op> {
  using Lower = Lowered (*)(LaneBuilder &, const Lanes &, Op, RegistersOf<Op>);

  LanePattern(const TypeConverter &converter, MLIRContext *context, const Lanes &lanes, Lower lower,
              PatternBenefit benefit)
      : OpConversionPattern<Op>(converter, context, benefit), lanes(lanes), lower(lower) {}

  LogicalResult matchAndRewrite(Op op, RegistersOf<Op> operands, ConversionPatternRewriter &rewriter) const override {
    if constexpr (!std::is_void_v<Layout>)
      if (!hasLayout<Layout>(op))
        return failure();
    LaneBuilder b(op.getLoc(), rewriter);
    Lowered registers = lower(b, lanes, op, operands);
    if (failed(registers))
      return failure();
    if (op->getNumResults() == 0)
      rewriter.eraseOp(op);
    else
      rewriter.replaceOpWithMultiple(op, {*registers});
    return success();
  }

  const Lanes &lanes;
  Lower lower;
};

/// Adds a pattern for each of the functions, for all ops or for those on tiles with a layout of one kind. If two are for
/// the same op, the one with the larger benefit is asked first.
template <typename Layout = void, typename... Ops>
void addLowerings(RewritePatternSet &patterns, const TypeConverter &converter, const Lanes &lanes,
                  PatternBenefit benefit, Lowered (*...lower)(LaneBuilder &, const Lanes &, Ops, RegistersOf<Ops>)) {
  (patterns.add<LanePattern<Ops, Layout>>(converter, patterns.getContext(), lanes, lower, benefit), ...);
}

void populateLaneMemoryPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneArithmeticPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneFragmentPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneWarpgroupPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneMbarrierPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneCooperativePatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneIntegerPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLanePairPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);
void populateLaneProductPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns);

/// Finds the tile.random ops whose registers hold neighbouring words of a counter. This must run before the conversion,
/// which erases the ops that show how a tile was computed.
DenseSet<Operation *> findWholeCounters(tile::FuncOp kernel);
void populateLaneRandomPatterns(const TypeConverter &converter, const DenseSet<Operation *> &wholeCounters,
                                RewritePatternSet &patterns);

} // namespace mlir::heddle
