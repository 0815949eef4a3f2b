#include "compiler/Lanes/Passes.h"

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace mlir::heddle {
#define GEN_PASS_DEF_SINKLOADSPASS
#include "compiler/Lanes/Passes.h.inc"
} // namespace mlir::heddle

using namespace mlir;
using namespace mlir::heddle;

namespace {

/// Returns true if the op's results take no fewer registers than its operands, so that moving it down costs nothing.
bool rearranges(Operation *op) { return isa<vector::BroadcastOp, vector::ExtractOp>(op); }

struct SinkLoadsPass : mlir::heddle::impl::SinkLoadsPassBase<SinkLoadsPass> {
  using Base::Base;

  void runOnOperation() override {
    // Operands that do not come through shared memory are loaded by ordinary loads.
    bool multiplies = false, reads = false;
    getOperation().walk([&](Operation *op) {
      multiplies |= isa<nvgpu::MmaSyncOp>(op);
      reads |= isa<nvgpu::LdMatrixOp>(op);
    });
    anyLoad = !operands || (multiplies && !reads);
    getOperation().getBody().walk([&](Block *block) { sink(*block); });
  }

  bool isLoad(Operation *op) const {
    return isa<nvgpu::LdMatrixOp>(op) || (anyLoad && isa<memref::LoadOp, vector::LoadOp>(op));
  }
  bool mayWrite(Operation &op) const {
    return !isMemoryEffectFree(&op) && !isa<memref::LoadOp, vector::LoadOp, nvgpu::LdMatrixOp>(op);
  }

  void sink(Block &block) const {
    // From the bottom up, so that the users of an op are at their final places before it moves.
    Operation *write = nullptr; // the first one below
    for (Operation *op = &block.back(); op;) {
      Operation *above = op->getPrevNode();
      if ((isLoad(op) || rearranges(op)) && !op->use_empty()) {
        Operation *place = isLoad(op) ? write : nullptr;
        for (Operation *user : op->getUsers())
          if (Operation *ancestor = block.findAncestorOpInBlock(*user))
            if (!place || ancestor->isBeforeInBlock(place))
              place = ancestor;
        if (place)
          op->moveBefore(place);
      } else if (mayWrite(*op)) {
        write = op;
      }
      op = above;
    }
  }

  bool anyLoad = true;
};

} // namespace
