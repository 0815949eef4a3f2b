// The passes of this room: flags, options and a page of reference are made of it (docs/add-a-pass.md).

include "mlir/Pass/PassBase.td"

def AddAdaptersPass : Pass<"heddle-add-adapters", "::mlir::ModuleOp"> {
  let summary = "Freeze a model's weights and train adapters of low rank beside them";
  let description = [{
    Gives a model's functions adapters, and freezes all weights that there were. An adapter is called like its weight,
    with `lora_a` and `lora_b` in the place of `weight`; A starts uniform within 1 / sqrt(in), B as zeros, so that a model
    begins as it was published. With `dropout`, training zeroes elements of each adapter's input, each adapter by a mask of its own.
    The weights of `modules_to_save` stay weights, which are trained whole.
  }];
  let options = [
    Option<"text", "lora", "std::string", /*default=*/"std::string()", "rank=R,alpha=A,dropout=P,targets=NAME,...,modules_to_save=NAME,...">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def CompleteModulePass : Pass<"heddle-complete-module", "::mlir::ModuleOp"> {
  let summary = "Inline calls, and declare the optimizer's state, of a module that is written by hand";
  let description = [{
    Calls of the module's own functions are inlined, and private functions that were called go. Constants whose elements are all
    alike become `heddle.fill`. Where functions have `heddle.minimize` or `heddle.apply`, moments, averages and gradients of each
    weight and the counter of steps are declared, as far as they are not there.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect"];
}

def DeriveDecodingPass : Pass<"heddle-derive-decoding", "::mlir::ModuleOp"> {
  let summary = "Make the entries that answer a token at a time";
  let description = [{
    `encode`, `decode_step` and `beam_step`, with their caches.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveEvaluationPass : Pass<"heddle-derive-evaluation", "::mlir::ModuleOp"> {
  let summary = "Make entries that compute a model's functions as they are";
  let description = [{
    `logits`; of an encoder alone `encode`.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveExplanationPass : Pass<"heddle-derive-explanation", "::mlir::ModuleOp"> {
  let summary = "Make the entry that gives the weights of every attention";
  let description = [{
    `explain`: the weights of every attention.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveInitPass : Pass<"heddle-derive-init", "::mlir::ModuleOp"> {
  let summary = "Make the entry that starts all variables; model functions go";
  let description = [{
    `init`; and the model's functions go. A module that is written by hand gets an `init` where its variables say how they start and
    it has none.
  }];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def DeriveTrainingPass : Pass<"heddle-derive-training", "::mlir::ModuleOp"> {
  let summary = "Make the entries of training of a model's functions";
  let description = [{
    `train_step`, `accumulate_step`, `apply_step` and `eval`, with the state that they need. With `ranks` there are also
    `parallel_train_step` and `parallel_apply_step`, which several ranks run together. Without `steps` there is `eval` alone.
  }];
  let options = [
    Option<"ranks", "ranks", "bool", /*default=*/"false", "Make entries that several ranks run together, too">,
    Option<"steps", "steps", "bool", /*default=*/"true", "Make entries that change the weights">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::func::FuncDialect"];
}

def QuantizeWeightsPass : Pass<"heddle-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "Keep weights as packed whole numbers with scales";
  let description = [{
    Makes of each matrix `w` that products multiply by, or whose rows are taken, a variable of packed words with the same name and
    `w.scales`. With `file` it does so with the matrices whose variables have `heddle.stored`, in the format of that type of GGUF
    files. With adapters, those stay as they are. What trains the weights themselves cannot be derived afterwards.
  }];
  let options = [
    Option<"text", "weights", "std::string", /*default=*/"std::string()", "file (default), int8, int4, int8:GROUP or int4:GROUP">
  ];
  let dependentDialects = ["::mlir::heddle::HeddleDialect", "::mlir::arith::ArithDialect"];
}

def VerifyModelPass : Pass<"heddle-verify-model", "::mlir::ModuleOp"> {
  let summary = "Check that entries can be made of a model's functions";
  let description = [{
    Each function is a block; what is called alike in several functions has one type; `logits` and `loss` have the results that training
    takes, and `logits` only inputs that a step of decoding has. Models that were imported are so; a module written by hand need not be.
  }];
}
