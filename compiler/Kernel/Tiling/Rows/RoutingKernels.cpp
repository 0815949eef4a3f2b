// Mixtures of experts: the columns that rows choose, and the order of all choices by expert.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value isEqual(KernelEmitter &emitter, Value x, Value y) {
  return arith::CmpIOp::create(emitter.builder(), arith::CmpIPredicate::eq, x, y);
}

/// An i32 tile that is `number` everywhere.
Value splat(KernelEmitter &emitter, Value number, int64_t rows, int64_t columns) {
  auto &b = emitter.builder();
  Value i32 = arith::IndexCastOp::create(b, b.getI32Type(), number);
  return tile::SplatOp::create(b, emitter.tileType(rows, columns, b.getI32Type()), i32);
}

struct PickTile : TileOpInterface::ExternalModel<PickTile, PickOp> {
  bool readsElsewhere(Operation *, unsigned operand) const { return operand == 0; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto pick = cast<PickOp>(op);
    int64_t width = typeOf(pick.getRows()).getDimSize(1);
    Value columns = emitter.evaluate(pick.getColumns(), place), memory = emitter.memoryOf(pick.getRows());
    Value none = emitter.constant(place.rows, place.columns, 0);
    return emitter.loop(
        emitter.index(0), emitter.index(width), 1, width, none,
        [&](Value column, ValueRange found) -> SmallVector<Value> {
          Value number = emitter.load(memory, {place.row, column, place.rows, 1, place.rowLimit, {}});
          Value isIt = isEqual(emitter, columns, splat(emitter, column, place.rows, place.columns));
          return {arith::SelectOp::create(b, isIt, emitter.broadcast(number, place.rows, place.columns), found[0])};
        });
  }
};

struct PlaceTile : TileOpInterface::ExternalModel<PlaceTile, PlaceOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto values = cast<PlaceOp>(op);
    int64_t count = typeOf(values.getColumns()).getDimSize(1);
    auto wide = [&](Value tile) { return emitter.broadcast(tile, place.rows, place.columns); };
    Value columns = wide(emitter.indices(place, 1)), sum = emitter.constant(place.rows, place.columns, 0);
    for (int64_t j = 0; j < count; ++j) {
      Place at{place.row, emitter.index(j), place.rows, 1, place.rowLimit, {}};
      Value isIt = isEqual(emitter, columns, wide(emitter.load(emitter.memoryOf(values.getColumns()), at)));
      Value with = arith::AddFOp::create(b, sum, wide(emitter.load(emitter.memoryOf(values.getValues()), at)));
      sum = arith::SelectOp::create(b, isIt, with, sum);
    }
    return {sum};
  }
};

struct GatherTile : TileOpInterface::ExternalModel<GatherTile, GatherOp> {
  bool readsElsewhere(Operation *, unsigned) const { return true; }

  SmallVector<Value> emitTile(Operation *op, KernelEmitter &emitter, const Place &place) const {
    auto &b = emitter.builder();
    auto gather = cast<GatherOp>(op);
    RankedTensorType type = emitter.tileType(place.rows, place.columns);
    Value memory = emitter.memoryOf(gather.getRows()), indices = emitter.memoryOf(gather.getIndices()), sum;
    for (int64_t j = 0; j < typeOf(gather.getIndices()).getDimSize(1); ++j) {
      Value rows = emitter.load(indices, {place.row, emitter.index(j), place.rows, 1, place.rowLimit, {}});
      Value part = tile::GatherOp::create(b, type, memory, rows, place.column, place.columnLimit);
      sum = sum ? arith::AddFOp::create(b, sum, part).getResult() : part;
    }
    return {sum};
  }
};

/// A workgroup's block of rows of `chosen`. Its lanes are laid out along the experts, of which all are in one tile.
class ChoiceBlock {
public:
  ChoiceBlock(KernelEmitter &emitter, Value chosen, int64_t blocks, int64_t experts)
      : emitter(emitter), chosen(chosen), experts(experts), ofRow(typeOf(chosen).getDimSize(1)) {
    auto &b = emitter.builder();
    emitter.setMapping(tile::LaneMapping::Columns);
    emitter.setVector({});
    width = llvm::alignTo(experts + 1, emitter.getLanes() * emitter.getVector());
    number = emitter.setGrid(0, blocks, {}, 1);
    Matrix matrix = *Matrix::of(typeOf(chosen));
    most = llvm::divideCeil(emitter.maximumRows(matrix), blocks);
    Value rows = emitter.rowsOf(matrix);
    Value length = b.createOrFold<arith::DivUIOp>(emitter.add(rows, emitter.index(blocks - 1)), emitter.index(blocks));
    begin = b.createOrFold<arith::MulIOp>(number, length);
    end = b.createOrFold<arith::MinSIOp>(emitter.add(begin, length), rows);
    columns = emitter.indices(placeOf(emitter.index(0), width), 1);
  }

  /// The place of all experts' numbers in row `row` of a matrix with `limit` numbers per row.
  Place placeOf(Value row, int64_t limit) const {
    return {row, emitter.index(0), 1, width, {}, limit < width ? emitter.index(limit) : Value()};
  }
  Value constant(int64_t value) const { return emitter.constantInt(1, width, value); }
  Value add(Value x, Value y) const { return arith::AddIOp::create(emitter.builder(), x, y); }
  Value wide(Value tile) const { return emitter.broadcast(tile, 1, width); }
  /// `numbers` where `condition` holds, and zeros elsewhere.
  Value only(Value condition, Value numbers) const {
    return arith::SelectOp::create(emitter.builder(), condition, numbers, constant(0));
  }

  /// Calls `body` for each choice of the block, in order: with the row, the choice's number in the row, its expert (a
  /// tile of one element), a mask of the experts that is true only for this one, and the state. The state is, for each
  /// expert, `state` plus the number of earlier choices. Returns the last state.
  Value forChoices(Value state, function_ref<void(Value, int64_t, Value, Value, Value)> body) const {
    return emitter.loop(begin, end, 1, most, state, [&](Value row, ValueRange before) -> SmallVector<Value> {
      Value counts = before[0];
      for (int64_t j = 0; j < ofRow; ++j) {
        Value expert = emitter.load(emitter.memoryOf(chosen), {row, emitter.index(j), 1, 1, {}, {}}, Padding::Any);
        Value isIt = isEqual(emitter, columns, wide(expert));
        body(row, j, expert, isIt, counts);
        counts = add(counts, only(isIt, constant(1)));
      }
      return {counts};
    })[0];
  }

  KernelEmitter &emitter;
  Value chosen;
  int64_t experts, ofRow, width, most;
  Value number, begin, end, columns;
};

struct CountChoicesKernel : KernelOpInterface::ExternalModel<CountChoicesKernel, CountChoicesOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto count = cast<CountChoicesOp>(op);
    RankedTensorType counts = count.getType();
    ChoiceBlock block(emitter, count.getChosen(), counts.getDimSize(0), counts.getDimSize(1));
    Value sums = block.forChoices(block.constant(0), [](Value, int64_t, Value, Value, Value) {});
    emitter.store(count.getCounts(), sums, block.placeOf(block.number, block.experts));
    return success();
  }
};

/// An expert's choices begin behind those of all experts before it. Within them, a block's choices begin behind those
/// of the blocks before it.
struct DispatchKernel : KernelOpInterface::ExternalModel<DispatchKernel, DispatchOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto dispatch = cast<DispatchOp>(op);
    auto &b = emitter.builder();
    RankedTensorType counts = typeOf(dispatch.getCounts());
    int64_t blocks = counts.getDimSize(0), experts = counts.getDimSize(1);
    ChoiceBlock block(emitter, dispatch.getChosen(), blocks, experts);
    auto sumOf = [&](Value from, Value to) {
      return emitter.loop(from, to, 1, blocks, block.constant(0), [&](Value row, ValueRange sum) -> SmallVector<Value> {
        return {block.add(sum[0], emitter.load(emitter.memoryOf(dispatch.getCounts()), block.placeOf(row, experts)))};
      })[0];
    };
    Value before = sumOf(emitter.index(0), block.number);
    Value all = block.add(before, sumOf(block.number, emitter.index(blocks)));
    Value starts =
        emitter.loop(emitter.index(0), emitter.index(experts), 1, experts, block.constant(0),
                     [&](Value expert, ValueRange sum) -> SmallVector<Value> {
                       Value own = splat(emitter, expert, 1, block.width);
                       Value ofExpert =
                           emitter.reduce(tile::Combine::Sum, block.only(isEqual(emitter, block.columns, own), all), 1);
                       Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, block.columns, own);
                       return {block.add(sum[0], block.only(isBehind, block.wide(ofExpert)))};
                     })[0];
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, block.number, emitter.index(0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      emitter.store(dispatch.getStarts(), starts, block.placeOf(emitter.index(0), experts + 1));
    }
    Value zero = emitter.index(0);
    block.forChoices(block.add(starts, before), [&](Value row, int64_t j, Value expert, Value isIt, Value next) {
      Value place = emitter.reduce(tile::Combine::Sum, block.only(isIt, next), 1);
      emitter.store(dispatch.getPlaces(), place, {row, emitter.index(j), 1, 1, {}, {}});
      Value number = splat(emitter, emitter.add(emitter.mul(row, block.ofRow), emitter.index(j)), 1, 1);
      for (auto [result, value] :
           {std::pair<Value, Value>{dispatch.getOrder(), number}, {dispatch.getExperts(), expert}})
        if (Value memory = emitter.memoryOfResult(result))
          tile::StoreOp::create(b, value, memory, zero, zero, /*row_limit=*/Value(), /*column_limit=*/Value(), place);
    });
    return success();
  }
};

} // namespace

void heddle::registerRoutingKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) {
    PickOp::attachInterface<PickTile>(*context);
    PlaceOp::attachInterface<PlaceTile>(*context);
    GatherOp::attachInterface<GatherTile>(*context);
    CountChoicesOp::attachInterface<CountChoicesKernel>(*context);
    DispatchOp::attachInterface<DispatchKernel>(*context);
  });
}
