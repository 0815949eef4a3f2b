// The FLOPs and bytes of an op, as formulas of run-time sizes. The interface is attached to the dialects' ops as
// external models.
#ifndef HEDDLE_COST_INTERFACE_TD
#define HEDDLE_COST_INTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op whose cost is not simply one operation for each element of its result. Every op that anchors a kernel has this
    interface. The counts follow the op's definition, not what a particular kernel does.
  }];
  let methods = [
    InterfaceMethod<"Counts all floating-point operations.", "::mlir::heddle::Amount", "countFlops",
                    (ins "::mlir::heddle::CostCounter &":$counter)>,
    InterfaceMethod<[{
        Counts the operations that belong to the model: matmuls of the forward pass and of the gradients. Work that the
        backward pass repeats to save memory is left out.
      }], "::mlir::heddle::Amount", "countModelFlops", (ins "::mlir::heddle::CostCounter &":$counter), [{}],
      [{ return {}; }]>,
    InterfaceMethod<"Counts the bytes read from an operand, each once.", "::mlir::heddle::Amount", "countBytesRead",
                    (ins "unsigned":$operand, "::mlir::heddle::CostCounter &":$counter), [{}],
                    [{ return Amount::bytes($_op->getOperand(operand).getType()); }]>,
    InterfaceMethod<"Counts the bytes written to a result, each once.", "::mlir::heddle::Amount", "countBytesWritten",
                    (ins "unsigned":$result, "::mlir::heddle::CostCounter &":$counter), [{}],
                    [{ return Amount::bytes($_op->getResult(result).getType()); }]>];
}

#endif
