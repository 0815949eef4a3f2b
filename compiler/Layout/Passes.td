// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def AssignLayoutsPass : Pass<"heddle-assign-layouts", "::mlir::tile::FuncOp"> {
  let summary = "Give every tile a layout: which lane holds which element";
  let description = [{
    Gives every tile of a tile.func a layout, #tile.simt or #tile.cooperative.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "The target whose lanes hold the tiles">
  ];
}

def LowerConversionsPass : Pass<"heddle-lower-conversions", "::mlir::tile::FuncOp"> {
  let summary = "Carry tiles through shared memory to lanes that have other elements of them";
  let description = [{
    On tile.func: carries tiles through shared memory where lanes have other elements of
    them than the new layout says. Conversions in which each lane keeps its elements stay: heddle-lower-to-lanes renames
    registers for them.
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
    On tile.func lowered to lanes: moves each load, and what only picks or repeats elements of one,
    down to its first use in its block, though never past a write. Compilers for processors keep the order that they are
    given. A GPU's schedule loads anyway, but move them up only, as far as registers last: with `operands` none but the
    loads of tensor cores' operands are moved, for which that matters.
  }];
  let options = [
    Option<"operands", "operands", "bool", /*default=*/"false", "Move none but the loads of tensor cores' operands">
  ];
}

def StageOperandsPass : Pass<"heddle-stage-operands", "::mlir::tile::FuncOp"> {
  let summary = "Copy the operands of products to shared memory ahead of their use (software pipelining)";
  let description = [{
    On tile.func before its layouts: tiles that a loop of a kernel on fragments loads for a
    tile.dot come through a ring of tiles in shared memory, which copies fill ahead of their use. So does a column of
    numbers that the loop loads as a row beside them. Tiles that are the same in all iterations are copied once. With
    `warpgroup`, the product of a loop that has only one becomes a tile.warpgroup_dot, which runs beside that of the next iteration.
  }];
  let options = [
    Option<"stages", "stages", "int64_t", /*default=*/"3", "Tiles of a ring, at most">,
    Option<"bytesOfLane", "bytes", "int64_t", /*default=*/"896", "Shared memory for each lane of a workgroup">,
    Option<"warpgroup", "warpgroup", "int64_t", /*default=*/"0", "Subgroups whose tensor cores read operands from shared memory together; 0: none do">
  ];
}

def UseWarpgroupsPass : Pass<"heddle-use-warpgroups", "::mlir::tile::FuncOp"> {
  let summary = "Make products whose operands lie in shared memory by warpgroups";
  let description = [{
    On tile.func after heddle-stage-operands: where every tile.dot of a kernel has its right operand in shared memory, in rows of a
    multiple of 64 elements, and rows for all warpgroups, each becomes a tile.warpgroup_dot. Left operands stay in registers where they are
    computed or kept there. Products start as soon as their operands are there, and are waited for where their results are used.
  }];
  let options = [
    Option<"warpgroup", "warpgroup", "int64_t", /*default=*/"4", "Subgroups whose tensor cores read operands from shared memory together">
  ];
}

def AlternateWarpgroupsPass : Pass<"heddle-alternate-warpgroups", "::mlir::tile::FuncOp"> {
  let summary = "Let one of two warpgroups multiply while the other computes softmax";
  let description = [{
    On tile.func after heddle-use-warpgroups, for loops of two products in kernels of two warpgroups, the second product being of what becomes of the
    first (attention's forward pass). The second product is made a step later, beside the next step's first, and the second warpgroup runs half a step behind
    the first, as in FlashAttention-3 (Shah et al., 2024, sections 3.1 and 3.2). Without that, both wait for the tensor cores at one time, and leave them
    idle at another. Rings of shared memory need a tile that a step neither reads nor fills, for the warpgroup that is behind.
  }];
  let options = [
    Option<"warpgroup", "warpgroup", "int64_t", /*default=*/"4", "Subgroups of a warpgroup">
  ];
}

def StageThroughRegistersPass : Pass<"heddle-stage-through-registers", "::mlir::tile::FuncOp"> {
  let summary = "Read the operands of products an iteration ahead and write them to shared memory (software pipelining)";
  let description = [{
    On tile.func before its layouts: tiles that a loop of a kernel in blocks or
    on cooperative matrices loads for a tile.dot are read one iteration ahead, and written to shared memory when that is over.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"kDefaultTarget.str()", "The target whose operands are read ahead">
  ];
}
