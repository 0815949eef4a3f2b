// How an op takes part in a kernel. Attached to the dialects' ops as external models, since the dialects know nothing of
// the compiler.
#ifndef HEDDLE_KERNEL_INTERFACES_TD
#define HEDDLE_KERNEL_INTERFACES_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{ An op that anchors a kernel: it decides the grid and the loops. }];
  let methods = [
    InterfaceMethod<[{
        Whether elementwise producers of its operands may be computed inside, tile by tile: true where each element of an
        operand is read once, so that nothing is computed twice.
      }], "bool", "takesPrologue", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether elementwise consumers of its first result, and of others of that type, may be computed inside, on the
        finished tiles.
      }], "bool", "takesEpilogue", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether the kernel can compute the result of another anchor as well while it reads its own operands.
      }], "bool", "takesCompanion", (ins "::mlir::Operation *":$other), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Earlier ops of the block, anchors too, that make an operand and that the kernel computes on the way, and ops on what
        those make that write it to memory; all of them or none.
      }], "::llvm::SmallVector<::mlir::Operation *>", "getChain", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        The matrix that elementwise consumers compute on: the type of the first result, unless the op makes columns out
        of a matrix and walks over it once more for them.
      }], "::mlir::RankedTensorType", "getEpilogueType", (ins), [{}], [{
        return ::llvm::cast<::mlir::RankedTensorType>($_op->getResult(0).getType());
      }]>,
    InterfaceMethod<[{
        Whether a workgroup owns whole rows, so that the epilogue may use the op's column results.
      }], "bool", "ownsRows", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether a result may be written over the operand: all that other workgroups, or this one later, read of it lies at
        other places.
      }], "bool", "mayOverwrite", (ins "unsigned":$operand), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether the result must live in the memory of the first operand, because the kernel writes only part of it.
      }], "bool", "worksInPlace", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Emits the whole kernel into `emitter`: mapping, grid, loops, and `emitter.finish` (or `store`) of the results.
      }], "::llvm::LogicalResult", "emitKernel", (ins "::mlir::heddle::KernelEmitter &":$emitter)>];
}

def TileOpInterface : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{ An elementwise op that is more than a function of its operands' elements at the same place. }];
  let methods = [InterfaceMethod<[{
      Whether it reads the operand at other places than its own too, as a gather does.
    }], "bool", "readsElsewhere", (ins "unsigned":$operand), [{}], [{ return false; }]>, InterfaceMethod<[{
      Emits the op for one place of the kernel's matrix and returns a tile for each result, or nothing after an error.
    }], "::llvm::SmallVector<::mlir::Value>", "emitTile",
    (ins "::mlir::heddle::KernelEmitter &":$emitter, "const ::mlir::heddle::Place &":$place)>];
}

#endif
