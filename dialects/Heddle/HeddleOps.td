// Module-level symbols, state and the root of differentiation. The tensor ops are in the files included below.
#ifndef HEDDLE_OPS_TD
#define HEDDLE_OPS_TD

include "dialects/Heddle/HeddleCost.td"
include "dialects/Heddle/HeddleTypes.td"
include "dialects/Heddle/HeddleInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def SizeOp : Heddle_Op<"size", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A run-time size and its compile-time maximum";
  let description = [{
    A call binds the size to the extent of an input whose encoding names it or, with `longest`, to the largest value of
    that i32 input. A `fixed` size always equals its maximum: it passes a number to a kernel that several launches share.
    With `of @other from N`, the size is min(max(other - N, 0), maximum): the rows of one chunk of a tensor. With `within`
    in addition, the size is `other` if N < other <= maximum, and 0 otherwise: a launch over the size runs only in calls
    with that many rows. With `times T`, T * other takes the place of `other`. A size that is only a multiple is called
    "OTHER*T".

    ```mlir
    heddle.size @source_tokens max 2048
    heddle.size @source_length max 256 longest "source_lengths"
    heddle.size @stream_17 max 17 fixed
    heddle.size @second_chunk max 512 of @source_tokens from 512   // min(max(source_tokens - 512, 0), 512)
    heddle.size @few_tokens max 16 of @source_tokens from 1 within      // source_tokens, if it is 2 to 16
    heddle.size @"source_tokens*2" max 4096 of @source_tokens times 2   // 2 source_tokens: two rows for each token
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$maximum, OptionalAttr<StrAttr>:$longest,
                       UnitAttr:$fixed, OptionalAttr<FlatSymbolRefAttr>:$of, DefaultValuedAttr<I64Attr, "0">:$from,
                       UnitAttr:$within, DefaultValuedAttr<I64Attr, "1">:$times);
  let builders = [OpBuilder<(ins "StringRef":$name, "int64_t":$maximum, "StringAttr":$longest,
                                 CArg<"bool", "false">:$fixed), [{
    build($_builder, $_state, name, maximum, longest, fixed, FlatSymbolRefAttr(), 0, false);
  }]>];
  let assemblyFormat = [{
    $sym_name `max` $maximum (`longest` $longest^)? (`fixed` $fixed^)? (`of` $of^ custom<PartOfSize>($times, $from))? (`within` $within^)? attr-dict
  }];
  let hasVerifier = 1;
}

def VariableOp : Heddle_Op<"variable", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that lives on the device between calls";
  let description = [{
    With `in` the variable is a view: rows of another variable, beginning with row `from`. A variable that has views only
    stores them: callers and checkpoints see only the views. A `frozen` variable is a weight that training does not change. `start`
    says what the derived entry `init` writes.
    `as` is the variable's role, and `of` the weight that it belongs to. Passes and the runtime find the variables
    of training by role and weight; names are for checkpoints. A variable that belongs to a weight has the weight's
    type, except for the `rounded` copy, moments that are bf16, and parts of packed weights.
    If several ranks train, each rank keeps some rows of a `sharded` variable and computes with only these. A
    sharded variable starts as zeros.
    A weight with `columns` is a matrix with this number of columns, stored in panels as `join_panels` takes them. Callers
    and checkpoints see the matrix.

    ```mlir
    heddle.variable @gain weight : tensor<8xf32> {start = #heddle.start<constant 1.0>}
    heddle.variable @projections weight : tensor<24x8xf32>
    heddle.variable @query.weight weight : tensor<8x8xf32> in @projections from 0
    heddle.variable @key.weight weight : tensor<8x8xf32> in @projections from 8
    heddle.variable @adam.m.gain optimizer_state of @gain as first_moment : tensor<8xf32>
    heddle.variable @adam.v.gain optimizer_state of @gain as second_moment : tensor<64xf32> {sharded}
    heddle.variable @step counter as steps : tensor<1xi32>
    heddle.variable @wide.weight weight : tensor<192x64xbf16> {columns = 192}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Heddle_VariableKindAttr:$kind, TypeAttrOf<Heddle_Tensor>:$type,
                       OptionalAttr<FlatSymbolRefAttr>:$storage, DefaultValuedAttr<I64Attr, "0">:$from,
                       OptionalAttr<Heddle_StartAttr>:$start, OptionalAttr<FlatSymbolRefAttr>:$owner,
                       OptionalAttr<Heddle_VariableRoleAttr>:$role, UnitAttr:$sharded,
                       OptionalAttr<I64Attr>:$columns);
  let builders = [OpBuilder<(ins "StringRef":$name, "VariableKind":$kind, "RankedTensorType":$type,
                                 CArg<"StartAttr", "{}">:$start, CArg<"FlatSymbolRefAttr", "{}">:$owner,
                                 CArg<"VariableRoleAttr", "{}">:$role), [{
    build($_builder, $_state, name, kind, type, FlatSymbolRefAttr(), 0, start, owner, role, /*sharded=*/false,
          /*columns=*/IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $sym_name $kind (`of` $owner^)? (`as` $role^)? `:` $type (`in` $storage^ `from` $from)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RankedTensorType getTensorType() { return ::llvm::cast<RankedTensorType>(getType()); }
    /// Returns true for weights, trained or frozen.
    bool isWeight() { return getKind() == VariableKind::Weight || getKind() == VariableKind::Frozen; }
    /// Returns the type that callers see: the matrix of a weight that is stored in panels.
    RankedTensorType getTypeOfCallers();
  }];
}

def ReadOp : Heddle_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A variable's value at this point of the entry";
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def WriteOp : Heddle_Op<"write", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Gives a variable a new value";
  let arguments = (ins FlatSymbolRefAttr:$variable, Heddle_Tensor:$value);
  let assemblyFormat = "$variable `,` $value attr-dict `:` type($value)";
}

// The optimizer of section 5.3, Adam. A `clip_norm` of 0 switches off clipping by the global norm. The region `rate`
// computes the learning rate from the step's number, which counts from 1.
// With `weight_decay` a step also multiplies every weight matrix by 1 - rate * weight_decay (AdamW: Loshchilov and
// Hutter 2019, algorithm 2), but no biases and gains.
// With `average_decay`, a weight's `average` is a moving average over all steps that starts at zero: after n steps it
// is too small by the factor 1 - average_decay^n.
// With `scale_interval` the loss is multiplied by the variable with the role `loss_scale` while it is differentiated,
// so that 16-bit gradients do not underflow. A step whose gradients are not all finite changes no weight, moment or
// average, halves the scale and counts in `skipped_steps`. After `scale_interval` other steps in a row, counted in
// `good_steps`, the scale doubles. Passes know all these variables by their roles.
defvar Heddle_OptimizerArguments = (ins F32Attr:$beta1, F32Attr:$beta2, F32Attr:$epsilon,
                                        F32Attr:$clip_norm, OptionalAttr<F32Attr>:$weight_decay,
                                        OptionalAttr<F32Attr>:$average_decay,
                                        OptionalAttr<I64Attr>:$scale_interval);

def MinimizeOp : Heddle_Op<"minimize"> {
  let summary = "One optimizer step on every weight that the loss depends on";
  let description = [{
    `differentiate` replaces it by the backward pass, the rate, and an update of each weight, of its moments (the
    variables with the roles `first_moment` and `second_moment`), and of the counter of `steps`. The result is the
    learning rate used.

    ```mlir
    %rate = heddle.minimize %loss {beta1 = 0.9 : f32, ...} rate {
    ^bb0(%step: tensor<1xf32>):
      %peak = heddle.fill 1.0e-3 : f32 to tensor<1xf32>
      %rate = arith.divf %peak, %step : tensor<1xf32>
      heddle.yield %rate : tensor<1xf32>
    }
    ```
  }];
  let arguments = !con((ins Heddle_Scalar:$loss), Heddle_OptimizerArguments);
  let results = (outs Heddle_Scalar:$learning_rate);
  let regions = (region SizedRegion<1>:$rate);
  let assemblyFormat = "$loss attr-dict `rate` $rate";
  let hasVerifier = 1;
}

// compiler/Graph/Derive derives the entries from a model's functions (`func.func` with the attribute `heddle.model`).
def TaskOp : Heddle_Op<"task"> {
  let summary = "The purpose of the model's functions, and which entries are derived from them";
  let description = [{
    The functions of each task are, for `translate`: `memory`, `logits` and `loss`; for `language`: `logits` and `loss`;
    for `encode`: `hidden`, and `pooled` and `logits` if the model has them; for `classify` and `tag`: `logits`, and
    `loss` against labels; for `embed`: `hidden`, `pooled`, `logits`, which compare pairs of texts, and `loss`; for
    `pretrain`: `hidden`, `logits` of hidden tokens, `next` of sentence pairs, and `loss` of both. `logits_entry` and
    `explain` add entries that return all logits and the weights of every attention. `beam` is
    the widest beam of a search, `padding` is the token that is never an answer, and `cache_rows` is the number of tokens
    whose keys and values are cached while decoding; as many as `target_tokens` by default.

    ```mlir
    heddle.task "translate" {beam = 4 : i64, explain}
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$beam, OptionalAttr<I64Attr>:$padding, UnitAttr:$logits_entry,
                       UnitAttr:$explain, OptionalAttr<I64Attr>:$cache_rows);
  let assemblyFormat = "$name attr-dict";
  let hasVerifier = 1;
}

def TrainingOp : Heddle_Op<"training"> {
  let summary = "How a model is trained: the optimizer of the derived entries";
  let description = [{
    The model's function `rate` computes the learning rate from the step's number. With `accumulate`, gradients may be
    summed over several calls before a step. With `loss_scale` and `scale_interval` the loss is scaled while it is
    differentiated, at first by `loss_scale`. With `token_weights` the training entries have an input of that name, a
    factor for the loss of each token.
    `preference` ("dpo" or "ipo") trains on pairs of sequences, the preferred one and another. The training entries then
    have the inputs `partner`, the other sequence of each sequence's pair, `preferred`, 1 or 0, and `reference`, the log
    probability that the reference model gives the sequence's weighted tokens. `preference_beta` is the loss's beta, and
    `preference_smoothing` the probability that a label is wrong.
  }];
  let arguments = !con(Heddle_OptimizerArguments, (ins OptionalAttr<F32Attr>:$loss_scale, UnitAttr:$accumulate,
                                                                  UnitAttr:$token_weights,
                                                                  OptionalAttr<StrAttr>:$preference,
                                                                  OptionalAttr<F32Attr>:$preference_beta,
                                                                  OptionalAttr<F32Attr>:$preference_smoothing));
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def OptimizerOp : Heddle_Op<"optimizer"> {
  let summary = "The text of the optimizer, if it is another than the fused Adam";
  let description = [{
    `text` is a text of the model language with a part `update`, and `file` names it in messages. `parameters` has the
    values of the text's parameters. `heddle-elaborate-updates` evaluates the part for each weight that is trained.

    ```mlir
    heddle.optimizer "mine.weft" {parameters = {}, text = "update(w, g) { w - rate * g }"}
    ```
  }];
  let arguments = (ins StrAttr:$file, StrAttr:$text, DictionaryAttr:$parameters);
  let assemblyFormat = "$file attr-dict";
}

def AccumulateOp : Heddle_Op<"accumulate"> {
  let summary = "Adds the gradient of the loss to the weights' `gradient`; with `scaled`, the loss is multiplied by the `loss_scale`";
  let arguments = (ins Heddle_Scalar:$loss, UnitAttr:$scaled);
  let assemblyFormat = "$loss attr-dict";
}

def ApplyOp : Heddle_Op<"apply"> {
  let summary = "One optimizer step with the weights' `gradient` variables, which are then zeroed";
  let arguments = Heddle_OptimizerArguments;
  let results = (outs Heddle_Scalar:$learning_rate);
  let regions = (region SizedRegion<1>:$rate);
  let assemblyFormat = "attr-dict `rate` $rate";
  let hasVerifier = 1;
}

def UpdateOp : Heddle_Op<"update", [Pure, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<StepOpInterface, ["isRowwiseStep"]>,
    AllTypesMatch<["weight", "gradient", "new_weight"]>]> {
  let summary = "A step of an optimizer that is a text, on a weight";
  let description = [{
    The region computes the new weight and the new states. Its arguments are the weight, the gradient of this rank, and
    the inputs: first the states, then numbers such as the learning rate. `differentiate` creates the op, so that ranks
    find the gradients to be summed. `heddle-inline-updates` replaces it by the region's ops, or by a kernel if it is
    `sharded`.

    ```mlir
    %w2, %m2 = heddle.update %w, %g with %m, %rate : tensor<8x4xf32>, tensor<1xf32> : tensor<8x4xf32>, tensor<8x4xf32> {
    ^bb0(%weight: tensor<8x4xf32>, %gradient: tensor<8x4xf32>, %state: tensor<8x4xf32>, %number: tensor<1xf32>):
      %sum = arith.addf %state, %gradient : tensor<8x4xf32>
      %rates = heddle.broadcast %number : tensor<1xf32> to tensor<8x4xf32>
      %step = arith.mulf %sum, %rates : tensor<8x4xf32>
      %next = arith.subf %weight, %step : tensor<8x4xf32>
      heddle.yield %next, %sum : tensor<8x4xf32>, tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins Heddle_F32:$weight, Heddle_F32:$gradient, Variadic<Heddle_F32>:$inputs,
                       UnitAttr:$sharded);
  let results = (outs Heddle_F32:$new_weight, Variadic<Heddle_F32>:$new_states);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $weight `,` $gradient (`with` $inputs^ `:` type($inputs))? `:` type($weight) (`,` type($new_states)^)? $body attr-dict
  }];
  let hasVerifier = 1;
}

def KernelOp : Heddle_Op<"kernel", [IsolatedFromAbove, SingleBlock]> {
  let summary = "Ops that become one kernel: an anchor with its prologue and epilogue";
  let description = [{
    `fuse` creates it. The region's arguments stand for the inputs. Intermediate values of the region never reach device
    memory. With `sharded`, each rank computes the rows that it keeps of the results, which are a weight and sharded
    variables.

    ```mlir
    %y = heddle.kernel "matmul" (%x, %w : tensor<?x8xf32, #n>, tensor<8x8xf32>) -> tensor<?x8xf32, #n> {
    ^bb0(%a: tensor<?x8xf32, #n>, %b: tensor<8x8xf32>):
      %0 = heddle.matmul %a, %b : tensor<?x8xf32, #n>, tensor<8x8xf32> -> tensor<?x8xf32, #n>
      heddle.yield %0 : tensor<?x8xf32, #n>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Heddle_Tensor>:$inputs, UnitAttr:$sharded);
  let results = (outs Variadic<Heddle_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `(` ($inputs^ `:` type($inputs))? `)` (`->` type($results)^)? $body attr-dict
  }];
  let hasVerifier = 1;
}

def YieldOp : Heddle_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "Ends a region: of `heddle.kernel`, of attention, of `heddle.scan`";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ValueRange()); }]>];
}

// Views: other names for the same memory, which no kernel computes. Tensors are row-major, so that consecutive rows (or
// elements of a vector) are contiguous.
def SliceOp : Heddle_Op<"slice", [Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Consecutive rows of a tensor, from a constant row on; the result's extent says how many";
  let description = [{
    A slice has a gradient only if its shape and the tensor's are static.

    ```mlir
    %chunk = heddle.slice %x from 512 : tensor<?x8xf32, #heddle.dims<"n">> to tensor<?x8xf32, #heddle.dims<"n_at_512">>
    ```
  }];
  let arguments = (ins Heddle_Tensor:$input, I64Attr:$from);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$input `from` $from attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def ReshapeOp : Heddle_Op<"reshape", [Pure, RowwiseOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The same elements in another shape, for example the columns of a row as heads side by side, and back";
  let description = [{
    The number of rows does not change, unless all extents are static or a run-time size is a multiple of another.

    ```mlir
    %heads = heddle.reshape %x : tensor<?x96xf32, #heddle.dims<"tokens">> to tensor<?x6x16xf32, #heddle.dims<"tokens">>
    %choices = heddle.reshape %y : tensor<?x2xf32, #heddle.dims<"tokens">> to tensor<?x1xf32, #heddle.dims<"tokens*2">>
    ```
  }];
  let arguments = (ins Heddle_Tensor:$input);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ConcatOp : Heddle_Op<"concat", [Pure]> {
  let summary = "The rows of several tensors, one after another; each part is computed in its final place";
  let description = [{
    Each part begins where the part before it would end at its maximum. So all parts before a part with rows must be
    full, as chunks of one tensor are.
  }];
  let arguments = (ins Variadic<Heddle_Tensor>:$parts);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `to` type($result)";
  let hasVerifier = 1;
}

include "dialects/Heddle/HeddleElementwiseOps.td"
include "dialects/Heddle/HeddleMatrixOps.td"
include "dialects/Heddle/HeddleDrawingOps.td"
include "dialects/Heddle/HeddlePoolingOps.td"
include "dialects/Heddle/HeddleAttentionOps.td"
include "dialects/Heddle/HeddleRecurrenceOps.td"
include "dialects/Heddle/HeddleRoutingOps.td"
include "dialects/Heddle/HeddleWindowOps.td"
include "dialects/Heddle/HeddleCollectiveOps.td"

#endif
