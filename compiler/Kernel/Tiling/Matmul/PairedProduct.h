// A matmul of bf16 in the matrix registers of a processor (AMX).
#pragma once

#include "compiler/Kernel/Tiling/Matmul/PackedProduct.h"

namespace mlir::heddle {

/// Operands are packed as words of two elements that are neighbours along the K dimension (tile.pairs).
class PairedProduct : public PackedProduct {
public:
  PairedProduct(KernelEmitter &emitter, const MatmulShape &shape);

private:
  void packRhs() override;
  void packLhs() override;
  void addTile(const Place &tile) override;
  void storePairs(Value tile, int64_t dim, bool transposed, Value panels, Value row, Value column);
};

} // namespace mlir::heddle
