// The plan dialect: the contents of the artifact, one op per table of runtime/schema/artifact.fbs. README.md has the
// rationale.
#ifndef PLAN_DIALECT_TD
#define PLAN_DIALECT_TD

include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let summary = "Entries as launches over a static arena and the variables";
  let cppNamespace = "::mlir::plan";
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

#endif
