// A matmul whose accumulators are in registers.
#pragma once

#include "compiler/Kernel/Tiling/Matmul/TileProduct.h"

namespace mlir::heddle {

/// The workgroup's lanes compute a tile of the result in registers, in one loop along the K dimension.
class RegisterProduct : public TileProduct {
public:
  /// Chooses the tile, and sets the kernel's mapping.
  RegisterProduct(KernelEmitter &emitter, const MatmulShape &shape);

  void place(Value row, Value column, Value rowLimit) override;
  SmallVector<Value> zeros(bool withSums) override;
  SmallVector<Value> accumulate(const MatmulOperands &operands, const DepthRange &range, ValueRange state) override;
  SmallVector<Value> finish(ValueRange state) override { return llvm::to_vector(state); }
  Value wholeSums(Value sums) override;

private:
  enum class Layout { Lanes, Blocks, Fragments };
  class Loop;

  void chooseFragments(const MatmulShape &shape);
  /// Returns false if the matmul is not computed in blocks.
  bool chooseBlocks(const MatmulShape &shape);
  void chooseLanes(const MatmulShape &shape);

  Layout layout = Layout::Lanes;
  Value sharedRows; // shared by all parts of a kernel, see wholeSums
};

/// The step of a thread, which reads its left side element by element. `rhs`: the right side; `rows`: of the result.
int64_t stepOfThread(int64_t depth, int64_t rows, const RightSide &rhs);

} // namespace mlir::heddle
