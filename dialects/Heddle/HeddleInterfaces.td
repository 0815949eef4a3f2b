// Interfaces that passes ask, so that they need no lists of op names.
#ifndef HEDDLE_INTERFACES_TD
#define HEDDLE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op with a reverse-mode derivative. Ops outside the dialect (arith, math) get it as an external model.
  }];
  let methods = [InterfaceMethod<[{
      Builds the op's vector-Jacobian product at `builder`'s insertion point. `resultGradients` has one value per
      result, null if nothing depends on that result (at least one is set). Returns one value per operand, null if the
      operand has no gradient (indices, lengths, seeds). Fails after an emitted error.
    }],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients)>];
}

def ProductOpInterface : OpInterface<"ProductOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{ An op that consists of matmuls, which tensor cores compute from 16-bit operands. }];
  let methods = [InterfaceMethod<[{
      Returns the operands of the matmuls. All of them have the same element type.
    }],
    "::llvm::SmallVector<::mlir::OpOperand *>", "getProductOperands", (ins)>,
    InterfaceMethod<[{
      Returns the number of columns of a head if the matmuls are per head. It decides if their operands can be 16-bit.
    }],
    "::std::optional<int64_t>", "getHeadWidth", (ins), "", [{ return ::std::nullopt; }]>];
}

def StepOpInterface : OpInterface<"StepOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An optimizer's step on a weight. With `sharded`, the states are sharded variables, and a rank computes the rows that
    it keeps of them. Ops have a unit attribute `sharded`.
  }];
  let methods = [
    InterfaceMethod<"The weight before the step.", "::mlir::Value", "getWeight", (ins)>,
    InterfaceMethod<"The weight's gradient.", "::mlir::OpOperand &", "getGradientMutable", (ins)>,
    InterfaceMethod<"The weight after the step.", "::mlir::Value", "getNewWeight", (ins)>,
    InterfaceMethod<[{
      Returns each state before and after the step: moments and averages.
    }],
    "::llvm::SmallVector<::std::pair<::mlir::Value, ::mlir::Value>>", "getStates", (ins)>,
    InterfaceMethod<[{
      Returns true if each row of the results depends only on the same row of weight, gradient and states.
    }],
    "bool", "isRowwiseStep", (ins), "", [{ return true; }]>,
    InterfaceMethod<"Sets or removes the attribute `sharded`.", "void", "setSharded", (ins "bool":$sharded)>];
}

def RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op that can be computed for only some rows of a batch, as decoding does for the newest token of each sequence.
    Elementwise ops need not implement this interface.
  }];
  let methods = [InterfaceMethod<[{
      Returns true if each row of the results depends only on the same row of the operands and on operands without
      rows of tokens. `isOfRows` returns true for an operand with rows of tokens.
    }],
    "bool", "isRowwise", (ins "::llvm::function_ref<bool(::mlir::Value)>":$isOfRows), "", [{ return true; }]>];
}

def PairsOpInterface : OpInterface<"PairsOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op on the pairs of queries and keys of each sequence. It takes starts and lengths of both.
  }];
  let methods = [
    InterfaceMethod<"The starts and lengths of the keys.", "::llvm::SmallVector<::mlir::OpOperand *>", "getKeySequences", (ins),
      "", [{ return {&$_op.getKeyStartsMutable(), &$_op.getKeyLengthsMutable()}; }]>,
    InterfaceMethod<[{
      Replaces the starts and lengths of the queries. `size` names the run-time size that holds the longest length.
    }],
    "void", "setQuerySequences", (ins "::mlir::Value":$starts, "::mlir::Value":$lengths, "::mlir::StringAttr":$size), "", [{
      $_op.getQueryStartsMutable().assign(starts);
      $_op.getQueryLengthsMutable().assign(lengths);
      $_op.setQuerySizeAttr(size);
    }]>];
}

// Computes each element of its results from the operands' elements at the same index (or from a row, column or scalar
// operand, or by a gather), so that it can join any kernel whose tiles cover that index. Ops of other dialects have
// `ElementwiseMappable` instead.
def Heddle_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::mlir::heddle"; }

#endif
