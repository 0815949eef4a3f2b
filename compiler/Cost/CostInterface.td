// What an op needs of a device, as formulas of run-time sizes. Attached to the dialects' ops as external models.
#ifndef HEDDLE_COST_INTERFACE_TD
#define HEDDLE_COST_INTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op whose cost is another than one operation an element of its result. Every op that anchors a kernel has it.
    Counted is what the op's definition asks for, not what a kernel happens to do.
  }];
  let methods = [
    InterfaceMethod<"All floating-point operations.", "::mlir::heddle::Amount", "countFlops",
                    (ins "::mlir::heddle::CostCounter &":$counter)>,
    InterfaceMethod<[{
        Those of them that count as the model's: products of the forward pass and of the gradients, without what a
        backward pass computes again to save memory.
      }], "::mlir::heddle::Amount", "countModelFlops", (ins "::mlir::heddle::CostCounter &":$counter), [{}],
      [{ return {}; }]>,
    InterfaceMethod<"Bytes read of an operand, each once.", "::mlir::heddle::Amount", "countBytesRead",
                    (ins "unsigned":$operand, "::mlir::heddle::CostCounter &":$counter), [{}],
                    [{ return Amount::bytes($_op->getOperand(operand).getType()); }]>,
    InterfaceMethod<"Bytes written of a result, each once.", "::mlir::heddle::Amount", "countBytesWritten",
                    (ins "unsigned":$result, "::mlir::heddle::CostCounter &":$counter), [{}],
                    [{ return Amount::bytes($_op->getResult(result).getType()); }]>];
}

#endif
