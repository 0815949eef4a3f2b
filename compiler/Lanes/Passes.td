// The passes of this folder. Their flags, options and reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def AssignLayoutsPass : Pass<"heddle-assign-layouts", "::mlir::tile::FuncOp"> {
  let summary = "Give every tile a layout: which lane holds which element";
  let description = [{
    Gives every tile of a tile.func a layout: #tile.simt, #tile.fragment or #tile.cooperative.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "The target whose lanes hold the tiles">
  ];
}

def LowerConversionsPass : Pass<"heddle-lower-conversions", "::mlir::tile::FuncOp"> {
  let summary = "Carry tiles through shared memory if their new layout gives lanes other elements";
  let description = [{
    On tile.func. If the new layout of a tile gives lanes other elements, the tile is written to shared memory and read from
    there. Conversions in which each lane keeps its elements stay: heddle-lower-to-lanes renames registers for them.
  }];
}

def LowerToLanesPass : Pass<"heddle-lower-to-lanes", "::mlir::tile::FuncOp"> {
  let summary = "Turn a workgroup's program on tiles into the program of a lane";
  let description = [{
    On tile.func. Every tile must carry a layout; after it there is no tile left, but scalars
    and short vectors in arith, math, scf, vector, memref and gpu.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

def SinkLoadsPass : Pass<"heddle-sink-loads", "::mlir::tile::FuncOp"> {
  let summary = "Move loads down to their first use";
  let description = [{
    On tile.func lowered to lanes. Moves each load down to its first use in its block, but never past a write. Ops that only pick
    or repeat elements of a load move with it. Compilers for CPUs keep the order of loads that they are given. Compilers for GPUs
    schedule loads anyway, but only move them up, as far as registers last. With `operands`, only loads of tensor-core operands
    are moved, because order matters for them.
  }];
  let options = [
    Option<"operands", "operands", "bool", /*default=*/"false", "Move none but the loads of tensor cores' operands">
  ];
}

def StageOperandsPass : Pass<"heddle-stage-operands", "::mlir::tile::FuncOp"> {
  let summary = "Bring the operands of products to shared memory ahead of their use (software pipelining)";
  let description = [{
    On tile.func before its layouts are assigned. Tiles that a loop loads for a tile.dot come through a ring of tiles in shared
    memory. In kernels on fragments, asynchronous copies fill the ring some iterations ahead. A column of numbers that the loop
    loads as a row beside them comes through a ring, too. Tiles that are the same in all iterations are copied once. On targets
    with warpgroups, if a loop has only one product, it becomes a tile.warpgroup_dot, which overlaps with the product of the next
    iteration. In kernels in blocks or on cooperative matrices, lanes load a tile into registers one iteration ahead, and write it
    to shared memory at the end of that iteration.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "The target whose operands are brought">
  ];
}

def SpecializeWarpsPass : Pass<"heddle-specialize-warps", "::mlir::tile::FuncOp"> {
  let summary = "Let some subgroups copy operands, and others multiply them (producers and consumers)";
  let description = [{
    On tile.func before heddle-stage-operands. Applies to kernels of two warpgroups that loop over tiles of a matmul's
    result, from their own workgroup's number on. Further subgroups, the producers, fill a ring of shared memory with the
    operands. They wait at mbarriers until both warpgroups have read a tile of the ring, and they go on while the
    warpgroups compute an epilogue. No barrier of the workgroup is left. The second warpgroup begins each tile a step
    after the first, so that one multiplies while the other is in its epilogue.
  }];
  let options = [
    Option<"producers", "producers", "int64_t", /*default=*/"4", "Subgroups that copy, and tiles of a ring; 0: none">,
    Option<"bytesOfLane", "bytes", "int64_t", /*default=*/"896", "Shared memory for each lane of a workgroup">,
    Option<"warpgroup", "warpgroup", "int64_t", /*default=*/"4", "Subgroups of a warpgroup">
  ];
}

def UseWarpgroupsPass : Pass<"heddle-use-warpgroups", "::mlir::tile::FuncOp"> {
  let summary = "Let warpgroups compute products whose operands lie in shared memory";
  let description = [{
    On tile.func after heddle-stage-operands. Turns each tile.dot of a kernel into a tile.warpgroup_dot if every one of them has
    rows for all warpgroups and a right operand in shared memory, in rows of a multiple of 64 elements. Left operands that are
    computed or kept in registers stay there. A product starts as soon as its operands are ready, and the kernel waits for it
    where its result is used.
  }];
  let options = [
    Option<"warpgroup", "warpgroup", "int64_t", /*default=*/"4", "Subgroups whose tensor cores read operands from shared memory together">
  ];
}

def AlternateWarpgroupsPass : Pass<"heddle-alternate-warpgroups", "::mlir::tile::FuncOp"> {
  let summary = "Let one of two warpgroups multiply while the other computes softmax";
  let description = [{
    On tile.func after heddle-use-warpgroups. Applies to kernels of two warpgroups with a loop of two matmuls. The second matmul
    reads values computed from the first (attention's forward pass). The second matmul runs a step later, beside the first matmul
    of the next step. The second warpgroup runs half a step behind the first, as in FlashAttention-3 (Shah et al., 2024, sections
    3.1 and 3.2). Otherwise both warpgroups would use the tensor cores at the same time, and leave them idle during the softmax.
    For the warpgroup that is behind, rings of shared memory need a tile that a step neither reads nor fills.
  }];
  let options = [
    Option<"warpgroup", "warpgroup", "int64_t", /*default=*/"4", "Subgroups of a warpgroup">
  ];
}
