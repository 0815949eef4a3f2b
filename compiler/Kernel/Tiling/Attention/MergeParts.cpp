// Merges the attention of a query to parts of its keys (Dao et al. 2023, "Flash-Decoding"). A workgroup owns a head of a
// query, and its lanes share the head's columns. It keeps the largest log-sum-exp so far, as an online softmax does.
#include "compiler/Kernel/Tiling/Attention/AttentionKernels.h"
#include "compiler/Kernel/Tiling/Frames/KernelEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Vectors of a head's columns that a lane holds.
constexpr int64_t kMostVectors = 8;
/// Below every log-sum-exp. The difference of two such numbers is still finite.
constexpr double kLowest = -1e30;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Merge {
public:
  Merge(MergePartsOp op, KernelEmitter &emitter)
      : op(op), emitter(emitter), b(emitter.builder()), heads(static_cast<int64_t>(op.getHeads())),
        columns(typeOf(op.getResult()).getDimSize(1)), width(columns / heads),
        parts(typeOf(op.getParts()).getDimSize(1) / columns) {}

  LogicalResult emit() {
    emitter.setVector({width});
    emitter.narrowVector(width);
    emitter.setMapping(tile::LaneMapping::Columns);
    head = emitter.setGrid(1, heads, {}, 1);
    RankedTensorType sequences = typeOf(op.getQueryStarts());
    Value sequence = emitter.setGrid(0, sequences.getDimSize(0), getSizeName(sequences, 0), 1);
    row = emitter.loadIndex(op.getQueryStarts(), sequence);
    Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, emitter.index(0),
                                          emitter.loadIndex(op.getQueryLengths(), sequence));
    auto branch =
        scf::IfOp::create(b, emitter.isSequence(op.getQueryStarts(), sequence, isThere), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value keys = emitter.loadIndex(op.getKeyLengths(), sequence), size = emitter.index(partKeys());
    Value withKeys = b.createOrFold<arith::DivUIOp>(emitter.add(keys, emitter.index(partKeys() - 1)), size);
    count = b.createOrFold<arith::MaxUIOp>(withKeys, emitter.index(1)); // the first part is always there
    int64_t together = emitter.getLanes() * emitter.getVector();
    int64_t chunk = width % together == 0 ? chunkOf(width, together, kMostVectors * together)
                                          : static_cast<int64_t>(llvm::alignTo(width, together));
    LogicalResult result = success();
    emitter.loop(emitter.index(0), emitter.index(width), chunk, width, [&](Value from) {
      if (failed(mergeColumns(from, chunk)))
        result = failure();
    });
    return result;
  }

private:
  int64_t partKeys() { return static_cast<int64_t>(op.getPartKeys()); }

  /// Merges `chunk` of the head's columns, from column `from` on.
  LogicalResult mergeColumns(Value from, int64_t chunk) {
    auto at = [&](Value ofHead) {
      Value limit = width % chunk == 0 ? Value() : emitter.add(ofHead, emitter.index(width));
      return Place{row, emitter.add(ofHead, from), 1, chunk, {}, limit};
    };
    auto wide = [&](Value number) { return emitter.broadcast(number, 1, chunk); };
    auto power = [&](Value number, Value largest) -> Value {
      return math::ExpOp::create(b, arith::SubFOp::create(b, number, largest));
    };
    Value largest = emitter.constant(1, 1, kLowest);
    if (op.getSink())
      largest = tile::SplatOp::create(b, largest.getType(), emitter.loadScalar(op.getSink(), head));
    SmallVector<Value> begin{largest, emitter.constant(1, 1, op.getSink() ? 1 : 0), emitter.constant(1, chunk, 0)};
    auto addPart = [&](Value part, ValueRange state) -> SmallVector<Value> {
      Value column = emitter.add(emitter.mul(part, heads), head);
      Value number = emitter.load(emitter.memoryOf(op.getLogSumExp()), {row, column, 1, 1, {}, {}}, Padding::Any);
      Value largest = arith::MaximumFOp::create(b, state[0], number);
      Value rescale = power(state[0], largest), weight = power(number, largest);
      Value ofPart = emitter.load(emitter.memoryOf(op.getParts()),
                                  at(emitter.add(emitter.mul(part, columns), emitter.mul(head, width))), Padding::Any);
      Value before = arith::MulFOp::create(b, state[2], wide(rescale));
      return {largest, math::FmaOp::create(b, state[1], rescale, weight),
              math::FmaOp::create(b, wide(weight), ofPart, before)};
    };
    SmallVector<Value> last = emitter.loop(emitter.index(0), count, 1, parts, begin, addPart);
    Value scale = arith::DivFOp::create(b, emitter.constant(1, 1, 1), last[1]);
    Place place = at(emitter.mul(head, width));
    emitter.define(op.getResult(), place, arith::MulFOp::create(b, last[2], wide(scale)));
    return emitter.finish(*Matrix::of(typeOf(op.getResult())), place);
  }

  MergePartsOp op;
  KernelEmitter &emitter;
  ImplicitLocOpBuilder &b;
  int64_t heads, columns, width, parts;
  Value head, row, count; // count: the parts that were written
};

struct MergePartsKernel : KernelOpInterface::ExternalModel<MergePartsKernel, MergePartsOp> {
  bool takesEpilogue(Operation *) const { return true; }
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    return Merge(cast<MergePartsOp>(op), emitter).emit();
  }
};

} // namespace

void heddle::registerMergePartsKernel(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, HeddleDialect *) { MergePartsOp::attachInterface<MergePartsKernel>(*context); });
}
