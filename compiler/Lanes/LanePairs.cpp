// Lowers the words of pairs that matrix registers multiply to a thread.
#include "compiler/Lanes/Lanes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Pairs of a row lie in two neighbouring registers in order. Those of a column interleave the registers of two rows.
Lowered lowerPairs(LaneBuilder &b, const Lanes &, tile::PairsOp op, RegistersOf<tile::PairsOp> adaptor) {
  Registers tile(cast<RankedTensorType>(op.getTile().getType()), adaptor.getTile());
  tile::LaneShape shape = tile::getLaneShape(op.getType());
  auto words = cast<VectorType>(getRegisterType(op.getType()));
  auto inOrder = llvm::to_vector(llvm::seq<int64_t>(2 * shape.vector));
  SmallVector<Value> registers;
  for (int64_t i = 0; i < shape.rows; ++i)
    for (int64_t run = 0; run < shape.runs; ++run) {
      Value pairs;
      if (op.getDim() == 1)
        pairs = vector::ShuffleOp::create(b, tile.at(i, 2 * run), tile.at(i, 2 * run + 1), inOrder);
      else
        pairs = vector::InterleaveOp::create(b, tile.at(2 * i, run), tile.at(2 * i + 1, run));
      registers.push_back(vector::BitCastOp::create(b, words, pairs));
    }
  return registers;
}

} // namespace

void heddle::populateLanePairPatterns(const TypeConverter &converter, const Lanes &lanes, RewritePatternSet &patterns) {
  addLowerings(patterns, converter, lanes, /*benefit=*/1, lowerPairs);
}
