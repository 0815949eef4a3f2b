// What an op must answer so that passes need no list of names.
#ifndef HEDDLE_INTERFACES_TD
#define HEDDLE_INTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op with a reverse-mode derivative. Ops outside the dialect (arith, math) get it as an external model.
  }];
  let methods = [InterfaceMethod<[{
      Builds the op's vector-Jacobian product at `builder`'s insertion point. `resultGradients` has one value a result,
      null where nothing depends on that result (at least one is set). Returns one value an operand, null where the
      operand has no gradient (indices, lengths, seeds), or failure after an emitted error.
    }],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients)>];
}

def ProductOpInterface : OpInterface<"ProductOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{ An op that consists of matrix products, which tensor cores compute from operands of 16 bits. }];
  let methods = [InterfaceMethod<[{
      Which operands are the sides of products. All of them have one element type.
    }],
    "::llvm::SmallVector<::mlir::OpOperand *>", "getProductOperands", (ins)>,
    InterfaceMethod<[{
      The columns of a head, where products are made head by head: whether their operands can be of 16 bits depends on it.
    }],
    "::std::optional<int64_t>", "getHeadWidth", (ins), "", [{ return ::std::nullopt; }]>];
}

def RowwiseOpInterface : OpInterface<"RowwiseOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op that can be computed for some rows of a batch alone, as decoding does with the newest token of each sequence.
    Elementwise ops can without saying so.
  }];
  let methods = [InterfaceMethod<[{
      Whether each row of the results is made of the operands' rows at the same place, and of operands without rows of
      tokens. `isOfRows` says of an operand whether it has such rows.
    }],
    "bool", "isRowwise", (ins "::llvm::function_ref<bool(::mlir::Value)>":$isOfRows), "", [{ return true; }]>];
}

def PairsOpInterface : OpInterface<"PairsOpInterface"> {
  let cppNamespace = "::mlir::heddle";
  let description = [{
    An op on pairs of queries and keys, of which each sequence has some: it takes starts and lengths of both.
  }];
  let methods = [
    InterfaceMethod<"The starts and lengths of the keys.", "::llvm::SmallVector<::mlir::OpOperand *>", "getKeySequences", (ins),
      "", [{ return {&$_op.getKeyStartsMutable(), &$_op.getKeyLengthsMutable()}; }]>,
    InterfaceMethod<[{
      Makes the queries those of other sequences. `size` names the run-time size that holds the longest one's length.
    }],
    "void", "setQuerySequences", (ins "::mlir::Value":$starts, "::mlir::Value":$lengths, "::mlir::StringAttr":$size), "", [{
      $_op.getQueryStartsMutable().assign(starts);
      $_op.getQueryLengthsMutable().assign(lengths);
      $_op.setQuerySizeAttr(size);
    }]>];
}

// Computes each element of its results from the operands' elements at the same place (or from a row, column or scalar
// operand, or by a gather), so that it can join any kernel whose tiles cover that place. For ops of other dialects
// `ElementwiseMappable` says the same.
def Heddle_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::mlir::heddle"; }

#endif
