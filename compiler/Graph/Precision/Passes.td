// The passes of this folder. Their flags, options and reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def KeepRoundedPass : Pass<"heddle-keep-rounded", "::mlir::ModuleOp"> {
  let summary = "Keep the 16-bit copies of weights from call to call";
  let description = [{
    On a module after `heddle-set-precision`: what weights are rounded to is a variable of its
    own beside each of them. Entries read it; those that give the weight a new value give it one too; and an entry of
    its own, `round_weights`, makes all of them, for weights that come from elsewhere.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def ReadRoundedPass : Pass<"heddle-read-rounded", "::mlir::func::FuncOp"> {
  let summary = "Read the rounded copy of a value if that is precise enough";
  let description = [{
    On func.func after `heddle-set-precision`. If a value has been rounded to 16 bits for a matmul, some ops read the rounded
    value instead: sums over rows, comparisons with zero, and `heddle.attention_delta`. The f32 value is then often not written at
    all.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RoundCachesPass : Pass<"heddle-round-caches", "::mlir::ModuleOp"> {
  let summary = "Keep keys and values in 16 bits from token to token";
  let description = [{
    On a module whose attention is fused. Caches that only fused attention reads become f16 or bf16, and rows are rounded as they
    are written to a cache. Queries, scores and sums stay as they are. The pass fails if it can round no cache.
  }];
  let options = [
    Option<"format", "format", "std::string", /*default=*/"\"f16\"", "f16 or bf16">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RoundMomentsPass : Pass<"heddle-round-moments", "::mlir::ModuleOp"> {
  let summary = "Keep Adam's moments of matrices in bf16 from step to step";
  let description = [{
    On a differentiated module whose variables have their final storage. Both moments of each matrix become bf16, and its update
    rounds them stochastically (`heddle.adam`). Moments of vectors stay f32, and so do moments of matrices with an odd number of
    columns or a number of elements that is no multiple of 128. The pass fails if it can round no moment.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SetPrecisionPass : Pass<"heddle-set-precision", "::mlir::func::FuncOp"> {
  let summary = "Round the operands of matmuls to fewer bits";
  let description = [{
    On func.func before it is cut into kernels: rounds each factor of a product once, where it
    is made, so that it is written and read with 16 bits; or marks the product, whose kernel then rounds to tf32.
    Attention with heads of other widths than the targets' tensor cores take stays in f32.
  }];
  let options = [
    Option<"name", "precision", "std::string", /*default=*/"\"bf16\"", "f32, bf16, f16 or tf32">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
