// Rows that are added at indices: a scatter, and the two kernels that sum up an embedding's gradient.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// How many numbers a lane compares with an index: enough for the comparisons to take longer than reading the index.
constexpr int64_t kNumbersOfLane = 8;

/// Indices that a workgroup reads at once if it owns a part of them, so that it waits for memory only once.
constexpr int64_t kIndicesAtOnce = 8;

/// Returns the number of parts into which the indices are divided. Each part has workgroups of its own, `strips` of
/// them side by side. A workgroup waits for memory between two rows, so many waiting workgroups keep a GPU busy. But
/// each of them reads all indices: on a device that runs few workgroups at once, more parts would only repeat that
/// work.
int64_t partsOf(const TargetProfile &profile, int64_t strips) {
  constexpr int64_t groupsWorthSharing = 2;
  return llvm::bit_floor<uint64_t>(std::max<int64_t>(1, profile.simt.parallelGroups / (groupsWorthSharing * strips)));
}

/// Calls `body` with the index of each row and the row's strip of columns, in the order of rows. A workgroup owns a
/// strip of columns for some of the indices, so rows with the same index never meet in two workgroups.
void forEachRow(KernelEmitter &emitter, Value rows, Value indices,
                function_ref<void(Value index, const Place &strip)> body) {
  auto &b = emitter.builder();
  Matrix matrix = *Matrix::of(typeOf(rows));
  emitter.setMapping(tile::LaneMapping::Columns);
  int64_t columns = emitter.getLanes() * emitter.getVector();
  int64_t parts = partsOf(emitter.getProfile(), llvm::divideCeil(matrix.columns, columns));
  Value column = emitter.mul(emitter.setGrid(0, matrix.columns, {}, columns), columns);
  Value part = parts > 1 ? emitter.setGrid(1, parts, {}, 1) : Value();
  Value columnLimit = matrix.columns % columns != 0 ? emitter.index(matrix.columns) : Value();
  Value end = emitter.rowsOf(matrix);
  if (!part) {
    emitter.loop(emitter.index(0), end, 1, emitter.maximumRows(matrix), {},
                 [&](Value row, ValueRange) -> SmallVector<Value> {
                   body(emitter.loadIndex(indices, row), {row, column, 1, columns, {}, columnLimit});
                   return {};
                 });
    return;
  }
  Value last = arith::SubIOp::create(b, end, emitter.index(1));
  emitter.loop(emitter.index(0), end, kIndicesAtOnce, emitter.maximumRows(matrix), {},
               [&](Value first, ValueRange) -> SmallVector<Value> {
                 SmallVector<std::pair<Value, Value>> rows; // rows and their indices
                 for (int64_t i = 0; i < kIndicesAtOnce; ++i) {
                   Value row = emitter.add(first, emitter.index(i));
                   Value there = arith::MinUIOp::create(b, row, last);
                   rows.emplace_back(row, emitter.loadIndex(indices, there));
                 }
                 for (auto [row, index] : rows) {
                   OpBuilder::InsertionGuard guard(b);
                   Value of = arith::RemUIOp::create(b, index, emitter.index(parts));
                   Value isOwn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, of, part);
                   Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, end);
                   Value both = arith::AndIOp::create(b, isOwn, isThere);
                   auto branch = scf::IfOp::create(b, both, /*withElseRegion=*/false);
                   b.setInsertionPoint(branch.thenYield());
                   body(index, {row, column, 1, columns, {}, columnLimit});
                 }
                 return {};
               });
}

Place atRow(Value row, Place strip) {
  strip.row = row;
  return strip;
}

struct ScatterAddKernel : KernelOpInterface::ExternalModel<ScatterAddKernel, ScatterAddOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto scatter = cast<ScatterAddOp>(op);
    Value result = emitter.memoryOfResult(scatter.getResult());
    if (!result)
      return emitter.fail() << "a scatter whose result is not written to memory";
    forEachRow(emitter, scatter.getRows(), scatter.getIndices(), [&](Value index, const Place &strip) {
      Place to = atRow(index, strip);
      Value row = emitter.load(emitter.memoryOf(scatter.getRows()), strip);
      emitter.store(scatter.getResult(), arith::AddFOp::create(emitter.builder(), emitter.load(result, to), row), to);
    });
    return success();
  }
  /// Rows without an index keep what they hold, so the result lives in the destination's memory.
  bool worksInPlace(Operation *) const { return true; }
};

/// A sum lies at the place of its first row. The loop sets the sum to zero when it reaches this row, so before any row
/// is added to it.
struct SumEqualKernel : KernelOpInterface::ExternalModel<SumEqualKernel, SumEqualOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto sum = cast<SumEqualOp>(op);
    Value result = emitter.memoryOfResult(sum.getResult());
    if (!result)
      return emitter.fail() << "sums of rows must be written to memory, and these are not";
    forEachRow(emitter, sum.getRows(), sum.getIndices(), [&](Value index, const Place &strip) {
      emitter.store(sum.getResult(), emitter.constant(1, strip.columns, 0), strip);
      Place to = atRow(emitter.loadIndex(sum.getFirst(), index), strip);
      Value row = emitter.load(emitter.memoryOf(sum.getRows()), strip);
      emitter.store(sum.getResult(), arith::AddFOp::create(emitter.builder(), emitter.load(result, to), row), to);
    });
    return success();
  }
};

/// A lane owns a few numbers and loops over all indices. Each index is read once for all numbers of all lanes.
struct FindFirstKernel : KernelOpInterface::ExternalModel<FindFirstKernel, FindFirstOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto find = cast<FindFirstOp>(op);
    auto &b = emitter.builder();
    Matrix numbers = *Matrix::of(typeOf(find.getFirst())), indices = *Matrix::of(typeOf(find.getIndices()));
    emitter.setMapping(tile::LaneMapping::Rows);
    int64_t rows = emitter.getLanes() * kNumbersOfLane;
    Value row = emitter.mul(emitter.setGrid(0, numbers.rows, numbers.size, rows), rows);
    Value limit = numbers.isDynamic() || numbers.rows % rows != 0 ? emitter.rowsOf(numbers) : Value();
    Place place{row, emitter.index(0), rows, 1, limit, {}};
    auto splat = [&](Value number) -> Value {
      Value i32 = arith::IndexCastOp::create(b, b.getI32Type(), number);
      return tile::SplatOp::create(b, emitter.tileType(rows, 1, b.getI32Type()), i32);
    };
    auto equal = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y); };
    Value number = emitter.indices(place, 0), nowhere = emitter.constantInt(rows, 1, -1);
    Value first = emitter.loop(emitter.index(0), emitter.rowsOf(indices), 1, emitter.maximumRows(indices), nowhere,
                               [&](Value position, ValueRange found) -> SmallVector<Value> {
                                 Value isIt = equal(splat(emitter.loadIndex(find.getIndices(), position)), number);
                                 Value isFirst = arith::AndIOp::create(b, isIt, equal(found[0], nowhere));
                                 return {arith::SelectOp::create(b, isFirst, splat(position), found[0])};
                               })[0];
    emitter.store(find.getFirst(), first, place);
    return success();
  }
};

} // namespace

void heddle::registerScatterKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    ScatterAddOp::attachInterface<ScatterAddKernel>(*context);
    SumEqualOp::attachInterface<SumEqualKernel>(*context);
    FindFirstOp::attachInterface<FindFirstKernel>(*context);
  });
}
