// The passes of this room. Flags, options and a reference page are generated from this file (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def AddAdaptersPass : Pass<"heddle-add-adapters", "::mlir::ModuleOp"> {
  let summary = "Freeze a model's weights and train adapters of low rank beside them";
  let description = [{
    Adds adapters to a model's functions and freezes all existing weights. An adapter has its weight's name, with
    `lora_a` and `lora_b` instead of `weight`. A starts uniform within 1 / sqrt(in) and B starts as zeros, so that a
    model begins as it was published. With `dropout`, training zeroes elements of each adapter's input, with a separate
    mask for each adapter. The weights of `modules_to_save` are still trained whole.
  }];
  let options = [
    Option<"text", "lora", "std::string", /*default=*/"std::string()", "rank=R,alpha=A,dropout=P,targets=NAME,...,modules_to_save=NAME,...">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def CompleteModulePass : Pass<"heddle-complete-module", "::mlir::ModuleOp"> {
  let summary = "Inline calls, and declare the optimizer's state, of a module that is written by hand";
  let description = [{
    Inlines calls of the module's own functions, and erases private functions that were called. Constants whose elements
    are all equal become `heddle.fill`. If functions have `heddle.minimize` or `heddle.apply`, the pass declares the
    moments, averages and gradients of each weight and the counter of steps, unless they are declared already.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def DeriveDecodingPass : Pass<"heddle-derive-decoding", "::mlir::ModuleOp"> {
  let summary = "Make the entries that generate one token at a time";
  let description = [{
    Adds `encode` (without `memory`: `sample_step` and `prefill`), `decode_step` and `beam_step`, with their caches.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveEvaluationPass : Pass<"heddle-derive-evaluation", "::mlir::ModuleOp"> {
  let summary = "Make entries that compute a model's functions without training";
  let description = [{
    Adds `logits`, and adds `encode` if the model is only an encoder or only a decoder.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveExplanationPass : Pass<"heddle-derive-explanation", "::mlir::ModuleOp"> {
  let summary = "Make the entry that gives the weights of every attention";
  let description = [{
    Adds `explain`, which returns the weights of every attention.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveInitPass : Pass<"heddle-derive-init", "::mlir::ModuleOp"> {
  let summary = "Make the entry that starts all variables, and erase model functions";
  let description = [{
    Adds `init`, and erases the model's functions. A module that is written by hand gets an `init` if it has none and
    all of its weights have a `start`.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveTrainingPass : Pass<"heddle-derive-training", "::mlir::ModuleOp"> {
  let summary = "Make the training entries of a model's functions";
  let description = [{
    Adds `train_step`, `accumulate_step`, `apply_step` and `eval`, with the state that they need. With `ranks`, also adds
    `parallel_train_step` and `parallel_apply_step`, which several ranks run together. Without `steps`, adds only
    `eval`.
  }];
  let options = [
    Option<"ranks", "ranks", "bool", /*default=*/"false", "Make entries that several ranks run together, too">,
    Option<"steps", "steps", "bool", /*default=*/"true", "Make entries that change the weights">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def QuantizeWeightsPass : Pass<"heddle-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "Store weights as packed integers with scales, or in 16 bits";
  let description = [{
    Turns each matrix `w` that is the right operand of matmuls, or whose rows are taken, into a variable of packed words
    with the same name, and adds `w.scales`. With `file` it does so only for matrices whose variables have
    `heddle.stored`, in the format of that GGUF type, or without `trains` `heddle.stored_in_folder`. Weights of 16 bits keep
    their name; with `file` and `trains` only frozen ones do. Without `trains` weights in f32 get panels, too. Adapters
    stay as they are. Entries that train the packed or 16-bit weights, or weights in panels, cannot be derived afterwards.
  }];
  let options = [
    Option<"text", "weights", "std::string", /*default=*/"std::string()", "file (default), f16, bf16, int8, int4, int8:GROUP or int4:GROUP">,
    Option<"trains", "trains", "bool", /*default=*/"false", "Entries that train the weights are to be derived">,
    Option<"panel", "panel", "int64_t", /*default=*/"0", "Columns of a panel of weights, for matrices of several panels; 0: none">,
    Option<"integerPanel", "integer-panel", "int64_t", /*default=*/"0", "The same for integers of 4 or 8 bits in groups of 32 or all; 0: as `panel`">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def VerifyModelPass : Pass<"heddle-verify-model", "::mlir::ModuleOp"> {
  let summary = "Check that entries can be derived from a model's functions";
  let description = [{
    Each function is a single block. Values with the same name in several functions have one type. `logits` and `loss`
    have the results that training needs, and `logits` has only inputs that a decoding step has. Imported models fulfil
    this, but a module written by hand may not.
  }];
}
