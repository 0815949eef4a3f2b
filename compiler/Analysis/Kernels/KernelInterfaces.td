// How an op takes part in a kernel. The interfaces are attached to the dialects' ops as external models, because the
// dialects do not depend on the compiler.
#ifndef HEDDLE_KERNEL_INTERFACES_TD
#define HEDDLE_KERNEL_INTERFACES_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{ An op that anchors a kernel: it decides the grid and the loops. }];
  let methods = [
    InterfaceMethod<[{
        Returns true if elementwise producers of the operands may be computed inside the kernel, tile by tile. Each
        element of an operand must be read only once, or it would be computed twice.
      }], "bool", "takesPrologue", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns true if elementwise consumers of the first result, and of other results of its type, may be computed
        inside the kernel on the finished tiles.
      }], "bool", "takesEpilogue", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns true if the kernel can also compute the result of the anchor `other` while it reads its own operands.
      }], "bool", "takesCompanion", (ins "::mlir::Operation *":$other), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns the earlier ops of the block that the kernel computes itself to obtain an operand. Anchors may be among
        them, and so may the ops that write their results to memory. The kernel takes all of these ops or none.
      }], "::llvm::SmallVector<::mlir::Operation *>", "getChain", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<[{
        Returns the type of the matrix that elementwise consumers compute on. It is the type of the first result, unless
        the op reduces a matrix to columns and then walks over that matrix again for its consumers.
      }], "::mlir::RankedTensorType", "getEpilogueType", (ins), [{}], [{
        return ::llvm::cast<::mlir::RankedTensorType>($_op->getResult(0).getType());
      }]>,
    InterfaceMethod<[{
        Returns true if a workgroup owns whole rows, so that the epilogue may use the op's column results.
      }], "bool", "ownsRows", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns true if a result may overwrite the operand: no overwritten element is read by another workgroup, or
        later by the same workgroup.
      }], "bool", "mayOverwrite", (ins "unsigned":$operand), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Returns true if the result must share the first operand's memory because the kernel writes only part of it.
      }], "bool", "worksInPlace", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Emits the whole kernel into `emitter`: it sets the mapping and the grid, emits the loops, and calls
        `emitter.finish` (or `store`) for the results.
      }], "::llvm::LogicalResult", "emitKernel", (ins "::mlir::heddle::KernelEmitter &":$emitter)>];
}

def TileOpInterface : OpInterface<"TileOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{ An elementwise op that is not simply a function of its operands' elements at the same place. }];
  let methods = [InterfaceMethod<[{
      Returns true if the op also reads the operand at places other than its own, as a gather does.
    }], "bool", "readsElsewhere", (ins "unsigned":$operand), [{}], [{ return false; }]>, InterfaceMethod<[{
      Emits the op for one place of the kernel's matrix. Returns a tile for each result, or no tiles after an error.
    }], "::llvm::SmallVector<::mlir::Value>", "emitTile",
    (ins "::mlir::heddle::KernelEmitter &":$emitter, "const ::mlir::heddle::Place &":$place)>];
}

#endif
