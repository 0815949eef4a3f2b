// The dialect itself. README.md beside this file has the rationale.
#ifndef HEDDLE_DIALECT_TD
#define HEDDLE_DIALECT_TD

include "mlir/IR/OpBase.td"

def Heddle_Dialect : Dialect {
  let name = "heddle";
  let summary = "The computation of a Transformer, on tensors of token-packed batches";
  let description = [{
    Values are builtin ranked tensors. The encoding `#heddle.dims<...>` names the run-time size of each dynamic
    dimension. Elementwise work is plain `arith` and `math`, whose type rules then forbid mixing a tensor of source
    tokens with a tensor of target tokens. State lives in `heddle.variable`s.
  }];
  let cppNamespace = "::mlir::heddle";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

class Heddle_Op<string mnemonic, list<Trait> traits = []> : Op<Heddle_Dialect, mnemonic, traits>;

#endif
