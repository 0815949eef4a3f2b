// The k largest elements of segments of rows: one walk over a segment for each of the k.
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"
#include "compiler/Kernel/Tiling/Rows/RowKernels.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::heddle;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Columns that the registers of all lanes hold together at a time.
constexpr int64_t kChunk = 64;
constexpr int64_t kNowhere = std::numeric_limits<int32_t>::max();

/// A workgroup owns a segment, and its lanes are laid out along the columns. An element's place is its row in the
/// segment times the number of columns, plus its column. Elements are ordered by descending value, and then by place.
/// In each walk a lane keeps the largest element of its columns that comes after the previously found element. Lanes
/// exchange values only at the end of a walk.
struct TopKKernel : KernelOpInterface::ExternalModel<TopKKernel, TopKOp> {
  bool takesPrologue(Operation *) const { return true; }

  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    auto topK = cast<TopKOp>(op);
    auto &b = emitter.builder();
    RankedTensorType segments = typeOf(topK.getStarts() ? topK.getStarts() : topK.getInput());
    int64_t columns = typeOf(topK.getInput()).getDimSize(1), count = typeOf(topK.getValues()).getDimSize(1);
    int64_t longest = topK.getRowSize().empty() ? 1 : emitter.maximumOf(topK.getRowSize());
    if (columns * longest >= kNowhere)
      return emitter.fail() << "a segment of " << longest << " rows of " << columns
                            << " has more elements than an i32 can number; lower the maximum of size "
                            << topK.getRowSize();
    emitter.setMapping(tile::LaneMapping::Columns);
    emitter.setVector({columns});
    emitter.setMaskedVector();
    int64_t run = emitter.getLanes() * emitter.getVector();
    int64_t chunk = llvm::alignTo(std::min(kChunk, columns), run);
    chunk = emitter.stepFor(columns, chunk, count * longest);
    int64_t chunks = llvm::divideCeil(columns, chunk);

    Value segment = emitter.setGrid(0, segments.getDimSize(0), getSizeName(segments, 0), 1);
    Value start = topK.getStarts() ? emitter.loadIndex(topK.getStarts(), segment) : segment;
    Value end =
        emitter.add(start, topK.getLengths() ? emitter.loadIndex(topK.getLengths(), segment) : emitter.index(1));
    Value limit = columns % chunk != 0 ? emitter.index(columns) : Value();
    auto compare = [&](arith::CmpFPredicate how, Value x, Value y) -> Value {
      return arith::CmpFOp::create(b, how, x, y);
    };
    auto compareInt = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, how, x, y);
    };
    auto wide = [&](Value tile) { return emitter.broadcast(tile, 1, chunk); };

    Value lowest = emitter.constant(1, chunk, -std::numeric_limits<float>::max());
    Value nowhere = emitter.constantInt(1, chunk, kNowhere);
    // Stands for the element before the first: larger than all others.
    SmallVector<Value> first{emitter.constant(1, 1, std::numeric_limits<float>::infinity()),
                             emitter.constantInt(1, 1, -1)};
    emitter.loop(emitter.index(0), emitter.index(count), 1, count, first, [&](Value number, ValueRange before) {
      Value bound = wide(before[0]), boundPlace = wide(before[1]);
      auto visit = [&](const Place &place, Value rowPlace, ValueRange best) -> SmallVector<Value> {
        Value x = emitter.evaluate(topK.getInput(), place), column = emitter.indices(place, 1);
        Value at = arith::AddIOp::create(b, column, tile::SplatOp::create(b, column.getType(), rowPlace));
        Value later = arith::AndIOp::create(b, compare(arith::CmpFPredicate::OEQ, x, bound),
                                            compareInt(arith::CmpIPredicate::sgt, at, boundPlace));
        Value comesAfter = arith::OrIOp::create(b, compare(arith::CmpFPredicate::OLT, x, bound), later);
        Value better = arith::AndIOp::create(b, comesAfter, compare(arith::CmpFPredicate::OGT, x, best[0]));
        if (place.columnLimit)
          better = arith::AndIOp::create(
              b, better, compareInt(arith::CmpIPredicate::slt, column, emitter.constantInt(1, chunk, columns)));
        return {arith::SelectOp::create(b, better, x, best[0]), arith::SelectOp::create(b, better, at, best[1])};
      };
      auto placeOf = [&](Value row) -> Value {
        Value inSegment = arith::SubIOp::create(b, row, start);
        return arith::IndexCastOp::create(b, b.getI32Type(), emitter.mul(inSegment, columns));
      };
      // A thread checks the limit only in a row's last chunk.
      auto walkOfThread = [&](Value row, ValueRange best) {
        Value rowPlace = placeOf(row);
        int64_t whole = columns / chunk * chunk;
        SmallVector<Value> next = emitter.loop(
            emitter.index(0), emitter.index(whole), chunk, columns, best,
            [&](Value column, ValueRange best) { return visit({row, column, 1, chunk, {}, {}}, rowPlace, best); });
        return limit ? visit({row, emitter.index(whole), 1, chunk, {}, limit}, rowPlace, next) : next;
      };
      // Lanes have one loop over the chunks of all rows, because the serialiser of SPIR-V loses a loop's result if it is
      // the next state of the loop around it.
      auto stepOfLanes = [&](Value at, ValueRange best) {
        Value row = b.createOrFold<arith::DivUIOp>(at, emitter.index(chunks));
        Value column = emitter.mul(b.createOrFold<arith::RemUIOp>(at, emitter.index(chunks)), chunk);
        return visit({row, column, 1, chunk, {}, limit}, placeOf(row), best);
      };
      SmallVector<Value> best{lowest, nowhere};
      best = emitter.getProfile().registers > 0 ? emitter.loop(start, end, 1, longest, best, walkOfThread)
                                                : emitter.loop(emitter.mul(start, chunks), emitter.mul(end, chunks), 1,
                                                               longest * chunks, best, stepOfLanes);
      Value largest = emitter.reduce(tile::Combine::Max, best[0], 1);
      Value hit = compare(arith::CmpFPredicate::OEQ, best[0], wide(largest));
      Value place =
          emitter.reduce(tile::Combine::Min, arith::SelectOp::create(b, hit, best[1], nowhere).getResult(), 1);
      store(topK, emitter, {segment, number, 1, 1, {}, {}}, largest, place, start);
      return SmallVector<Value>{largest, place};
    });
    return success();
  }

  /// If nothing was found, the place is the segment's first element, so that no reader goes past a matrix.
  static void store(TopKOp topK, KernelEmitter &emitter, const Place &to, Value value, Value place, Value start) {
    auto &b = emitter.builder();
    Value none = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place, emitter.constantInt(1, 1, kNowhere));
    Value known = arith::SelectOp::create(b, none, emitter.constantInt(1, 1, 0), place);
    Value columns = emitter.constantInt(1, 1, typeOf(topK.getInput()).getDimSize(1));
    Value firstRow = tile::SplatOp::create(b, place.getType(), arith::IndexCastOp::create(b, b.getI32Type(), start));
    emitter.store(topK.getValues(), value, to);
    emitter.store(topK.getRows(), arith::AddIOp::create(b, firstRow, arith::DivUIOp::create(b, known, columns)), to);
    emitter.store(topK.getColumns(), arith::RemUIOp::create(b, known, columns), to);
  }
};

} // namespace

void heddle::registerSelectionKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, HeddleDialect *) { TopKOp::attachInterface<TopKKernel>(*context); });
}
