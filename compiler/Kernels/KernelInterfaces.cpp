#include "compiler/Kernels/KernelInterfaces.h"

using namespace mlir;
using namespace mlir::heddle;

#include "compiler/Kernels/KernelInterfaces.cpp.inc"

bool heddle::isReadElsewhere(OpOperand &operand) {
  auto op = dyn_cast<TileOpInterface>(operand.getOwner());
  return op && op.readsElsewhere(operand.getOperandNumber());
}
