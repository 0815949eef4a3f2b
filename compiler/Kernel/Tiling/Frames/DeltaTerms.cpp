#include "compiler/Kernel/Tiling/Frames/DeltaTerms.h"

#include "compiler/Analysis/Kernels/Fragments.h"

using namespace mlir;
using namespace mlir::heddle;

/// Rounds f32 numbers to tf32, to the nearest and ties away from zero, as `cvt.rna.tf32` does. The largest NaN becomes
/// zero: the products with the same gradient, from which the delta is subtracted, are still NaN.
static Value roundToTensorFloat(KernelEmitter &emitter, Value tile) {
  constexpr int64_t dropped = 13; // bits of the mantissa
  auto &b = emitter.builder();
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Value bits = arith::BitcastOp::create(b, type.clone(b.getI32Type()), tile);
  bits = arith::AddIOp::create(b, bits, emitter.constantInt(rows, columns, int64_t(1) << (dropped - 1)));
  bits = arith::AndIOp::create(b, bits, emitter.constantInt(rows, columns, -(int64_t(1) << dropped)));
  return arith::BitcastOp::create(b, type, bits);
}

Value heddle::deltaTerms(KernelEmitter &emitter, AttentionDeltaOp delta, const Place &place) {
  Value forward = emitter.evaluate(delta.getForward(), place), gradient = emitter.evaluate(delta.getGradient(), place);
  if (delta->hasAttr(kTensorFloatAttrName))
    gradient = roundToTensorFloat(emitter, gradient);
  return arith::MulFOp::create(emitter.builder(), forward, gradient);
}
