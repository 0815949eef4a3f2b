#include "compiler/Kernel/Tiling/Matmul/PackedNumbers.h"

using namespace mlir;
using namespace mlir::heddle;

std::optional<PackedNumbers> PackedNumbers::of(KernelEmitter &emitter, const MatmulOperands &operands) {
  auto unpacked = operands.rhs.getDefiningOp<DequantizeOp>();
  // Rows that share a scale begin where a shifted matrix does only if it is a group's.
  if (!unpacked || operands.transposeLhs || (operands.shift && !operands.isOfGroup))
    return std::nullopt;
  return PackedNumbers(emitter, unpacked, operands.transposeRhs);
}

bool PackedNumbers::haveScalesOfColumns() const {
  auto [rows, columns] = unpacked.getGroup();
  ArrayRef<int64_t> shape = unpacked.getResult().getType().getShape();
  bool ofColumns = transposed ? rows == 1 && columns == shape[1] : rows == shape[0] && columns == 1;
  return unpacked.getScales() && !unpacked.getOffsets() && emitter.isInMemory(unpacked.getScales()) && ofColumns;
}

bool PackedNumbers::haveScalesOfSteps(int64_t length) const {
  auto [rows, columns] = unpacked.getGroup();
  bool isThread = emitter.getProfile().registers > 0;
  return unpacked.getScales() && !transposed && columns == 1 && rows % length == 0 &&
         (!unpacked.getOffsets() || (isThread && length % emitter.getVector() == 0));
}

Value PackedNumbers::scaleColumns(Value total, const Place &tile) const {
  Value zero = emitter.index(0), memory = emitter.memoryOf(unpacked.getScales());
  Place place = transposed ? Place{tile.column, zero, tile.columns, 1, tile.columnLimit, {}}
                           : Place{zero, tile.column, 1, tile.columns, {}, tile.columnLimit};
  Value scales = emitter.load(memory, place, Padding::Any, transposed);
  return arith::MulFOp::create(emitter.builder(), total, emitter.broadcast(scales, tile.rows, tile.columns));
}

Value PackedNumbers::totalOf(Value left) const {
  return unpacked.getOffsets() ? emitter.reduce(tile::Combine::Sum, left, 1) : Value();
}

Value PackedNumbers::addScaled(Value sum, Value product, Value total, const Place &place) const {
  auto &b = emitter.builder();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(sum.getType()).getShape();
  PackedPlace group = placeOfGroups(emitter, unpacked, {place});
  auto wide = [&](Value part) { return emitter.broadcast(part, shape[0], shape[1]); };
  Value scales = packedValues(emitter, unpacked.getScales(), group);
  Value scaled = arith::MulFOp::create(b, product, wide(scales));
  sum = arith::AddFOp::create(b, sum, scaled);
  if (!unpacked.getOffsets())
    return sum;
  Value offsets = packedValues(emitter, unpacked.getOffsets(), group);
  return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, wide(total), wide(offsets)));
}
