// The passes of this folder. Their flags, options and reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def RoundVariablesPass : Pass<"heddle-round-variables", "::mlir::ModuleOp"> {
  let summary = "Keep decoding's keys and values and Adam's moments in 16 bits from call to call";
  let description = [{
    On a differentiated module whose variables have their final storage. With `caches`, caches that only fused attention reads
    become f16 or bf16, and rows are rounded as they are written to a cache. Queries, scores and sums stay as they are.

    With `moments`, both moments of each matrix become bf16, and its update rounds them stochastically (`heddle.adam`). Moments of
    vectors stay f32, and so do moments of matrices with an odd number of columns or a number of elements that is no multiple of
    128.

    With `caches`, the pass fails if it can round no cache. With `moments`, it fails if it can round no moment.
  }];
  let options = [
    Option<"caches", "caches", "std::string", /*default=*/"\"f32\"", "f32, f16 or bf16">,
    Option<"moments", "moments", "std::string", /*default=*/"\"f32\"", "f32 or bf16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SetPrecisionPass : Pass<"heddle-set-precision", "::mlir::func::FuncOp"> {
  let summary = "Round the operands of matmuls to fewer bits";
  let description = [{
    On func.func before it is cut into kernels. Rounds each operand of a matmul once, where it is computed, so that it is
    written and read with 16 bits. With tf32, marks the matmul instead, and its kernel rounds. With bf16x3, an operand x of
    `heddle.matmul` becomes the sum of high = bf16(x) and low = bf16(x - high), and the matmul becomes the sum of three
    matmuls: high by high, high by low, low by high. Fusion makes one kernel of these. Other ops with matmuls stay in f32.
    Attention stays in f32 if the targets' tensor cores do not support its head width.

    With bf16 and f16, logits that a matmul makes are rounded, too, for the cross entropy and its gradient, if they have more
    columns than the matmul's left operand.
  }];
  let options = [
    Option<"name", "precision", "std::string", /*default=*/"\"bf16\"", "f32, bf16, f16, tf32 or bf16x3">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ShareRoundedPass : Pass<"heddle-share-rounded", "::mlir::ModuleOp"> {
  let summary = "Read the rounded copy of a value if that is precise enough, and keep the copies of weights from call to call";
  let description = [{
    On a module after `heddle-set-precision`. If a value has been rounded to 16 bits for a matmul, some ops read the rounded
    value instead: sums over rows, comparisons with zero, and `heddle.attention_delta`. The f32 value is then often not written at
    all.

    The rounded copy of a weight becomes a variable beside the weight. Entries read it, and entries that write the weight write
    the copy, too. A new entry, `round_weights`, writes all copies, for weights that come from elsewhere.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}
