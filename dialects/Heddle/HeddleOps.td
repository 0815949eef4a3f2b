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
    Bound at a call by the shape of an input whose encoding names it, or, with `longest`, to the largest value of that
    i32 input. With `fixed` it is always the maximum: a number by which launches of one kernel differ. With `of` it is
    what another size has from a number on, at most the maximum: the rows of one chunk of a tensor. With `within`, too,
    it is that size itself where it is above the number and at most the maximum, and else 0: a launch over it is for
    calls with so many rows.

    ```mlir
    heddle.size @source_tokens max 2048
    heddle.size @source_length max 256 longest "source_lengths"
    heddle.size @stream_17 max 17 fixed
    heddle.size @second_chunk max 512 of @source_tokens from 512   // min(max(source_tokens - 512, 0), 512)
    heddle.size @few_tokens max 16 of @source_tokens from 1 within      // source_tokens, if it is 2 to 16
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$maximum, OptionalAttr<StrAttr>:$longest,
                       UnitAttr:$fixed, OptionalAttr<FlatSymbolRefAttr>:$of, DefaultValuedAttr<I64Attr, "0">:$from,
                       UnitAttr:$within);
  let builders = [OpBuilder<(ins "StringRef":$name, "int64_t":$maximum, "StringAttr":$longest,
                                 CArg<"bool", "false">:$fixed), [{
    build($_builder, $_state, name, maximum, longest, fixed, FlatSymbolRefAttr(), 0, false);
  }]>];
  let assemblyFormat = [{
    $sym_name `max` $maximum (`longest` $longest^)? (`fixed` $fixed^)? (`of` $of^ `from` $from)? (`within` $within^)? attr-dict
  }];
  let hasVerifier = 1;
}

def VariableOp : Heddle_Op<"variable", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that lives on the device between calls";
  let description = [{
    With `in` it is a view: the rows of another variable from a number on. Variables that others are views of are where
    those are stored; callers and checkpoints know the views only. A `frozen` variable is a weight that training leaves as
    it is. `start` says what the derived entry `init` writes.
    `as` is the variable's role, and `of` the weight that it belongs to: passes and the runtime find what training keeps
    by these, and names are for checkpoints.
    What belongs to a weight has its type, but for its `rounded` copy and its moments, which may be of bf16.
    Where several ranks train, each keeps some rows of a `sharded` variable, and computes with those alone. It begins as zeros.

    ```mlir
    heddle.variable @gain weight : tensor<8xf32> {start = #heddle.start<constant 1.0>}
    heddle.variable @projections weight : tensor<24x8xf32>
    heddle.variable @query.weight weight : tensor<8x8xf32> in @projections from 0
    heddle.variable @key.weight weight : tensor<8x8xf32> in @projections from 8
    heddle.variable @adam.m.gain optimizer_state of @gain as first_moment : tensor<8xf32>
    heddle.variable @adam.v.gain optimizer_state of @gain as second_moment : tensor<64xf32> {sharded}
    heddle.variable @step counter as steps : tensor<1xi32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Heddle_VariableKindAttr:$kind, TypeAttrOf<Heddle_Tensor>:$type,
                       OptionalAttr<FlatSymbolRefAttr>:$storage, DefaultValuedAttr<I64Attr, "0">:$from,
                       OptionalAttr<Heddle_StartAttr>:$start, OptionalAttr<FlatSymbolRefAttr>:$owner,
                       OptionalAttr<Heddle_VariableRoleAttr>:$role, UnitAttr:$sharded);
  let builders = [OpBuilder<(ins "StringRef":$name, "VariableKind":$kind, "RankedTensorType":$type,
                                 CArg<"StartAttr", "{}">:$start, CArg<"FlatSymbolRefAttr", "{}">:$owner,
                                 CArg<"VariableRoleAttr", "{}">:$role), [{
    build($_builder, $_state, name, kind, type, FlatSymbolRefAttr(), 0, start, owner, role);
  }]>];
  let assemblyFormat = [{
    $sym_name $kind (`of` $owner^)? (`as` $role^)? `:` $type (`in` $storage^ `from` $from)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    RankedTensorType getTensorType() { return ::llvm::cast<RankedTensorType>(getType()); }
    /// Whether the model computes with it, trained or frozen.
    bool isWeight() { return getKind() == VariableKind::Weight || getKind() == VariableKind::Frozen; }
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

// The optimizer of 5.3: Adam; `clip_norm` 0 switches clipping by the global norm off. The region `rate` makes the learning
// rate of the step's number, which counts from 1.
// With `weight_decay` a step also shrinks every matrix among the weights, to 1 - rate * weight_decay times itself (AdamW:
// Loshchilov and Hutter 2019, algorithm 2); biases and gains stay.
// With `average_decay`, the weight's `average` is one over all steps, which began as zeros: after n steps it is
// 1 - average_decay^n too small.
// With `scale_interval` the loss is scaled while it is differentiated, by the variable that is the `loss_scale`, so that
// gradients of few bits do not vanish. A step whose gradients are not all finite changes no weight, moment or average,
// halves the scale and counts in `skipped_steps`; after that many other steps in a row, counted in `good_steps`, the scale
// is doubled. All these variables are known by their roles.
defvar Heddle_OptimizerArguments = (ins F32Attr:$beta1, F32Attr:$beta2, F32Attr:$epsilon,
                                        F32Attr:$clip_norm, OptionalAttr<F32Attr>:$weight_decay,
                                        OptionalAttr<F32Attr>:$average_decay,
                                        OptionalAttr<I64Attr>:$scale_interval);

def MinimizeOp : Heddle_Op<"minimize"> {
  let summary = "One optimizer step on every weight that the loss depends on";
  let description = [{
    `differentiate` replaces it by the backward pass, the rate, and an update of each weight, of its moments
    (the variables that are its `first_moment` and `second_moment`), and of the counter of `steps`. The result is the
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

// What entries are made of a model's functions (`func.func` with the attribute `heddle.model`): compiler/Derive.
def TaskOp : Heddle_Op<"task"> {
  let summary = "What the model's functions are for, and which entries are made of them";
  let description = [{
    `translate`: `memory`, `logits` and `loss`. `language`: `logits` and `loss`. `encode`: `hidden`, and `pooled` and
    `logits` where they are. `classify` and `tag`: `logits` and `loss`, against labels.
    `pretrain`: `hidden`, `logits` of hidden tokens, `next` of pairs of sentences, and `loss`, of both. With `logits_entry` and `explain` there are entries that give all logits and the weights of
    every attention. `beam` is the widest beam of a search, and `padding` the token that is never an answer.

    ```mlir
    heddle.task "translate" {beam = 4 : i64, explain}
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$beam, OptionalAttr<I64Attr>:$padding, UnitAttr:$logits_entry,
                       UnitAttr:$explain);
  let assemblyFormat = "$name attr-dict";
  let hasVerifier = 1;
}

def TrainingOp : Heddle_Op<"training"> {
  let summary = "How a model is trained: the optimizer of the entries that are made of its functions";
  let description = [{
    The model's function `rate` makes the learning rate of the step's number. With `accumulate` gradients may be summed over several calls before a step. With `loss_scale` and `scale_interval` the
    loss is scaled while it is differentiated, by so much at first. With `token_weights` the entries that train have an input of
    that name, a number for each token by which its loss counts.
  }];
  let arguments = !con(Heddle_OptimizerArguments, (ins OptionalAttr<F32Attr>:$loss_scale, UnitAttr:$accumulate,
                                                                  UnitAttr:$token_weights));
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def AccumulateOp : Heddle_Op<"accumulate"> {
  let summary = "Adds the gradient of the loss to the weights' `gradient`; with `scaled` it is times the `loss_scale`";
  let arguments = (ins Heddle_Scalar:$loss, UnitAttr:$scaled);
  let assemblyFormat = "$loss attr-dict";
}

def ApplyOp : Heddle_Op<"apply"> {
  let summary = "One optimizer step from the weights' `gradient`, which are then zeroed";
  let arguments = Heddle_OptimizerArguments;
  let results = (outs Heddle_Scalar:$learning_rate);
  let regions = (region SizedRegion<1>:$rate);
  let assemblyFormat = "attr-dict `rate` $rate";
  let hasVerifier = 1;
}

def KernelOp : Heddle_Op<"kernel", [IsolatedFromAbove, SingleBlock]> {
  let summary = "Ops that become one kernel: an anchor with its prologue and epilogue";
  let description = [{
    Made by `fuse`. The region's arguments stand for the inputs; what the region computes in between never reaches
    device memory.

    ```mlir
    %y = heddle.kernel "matmul" (%x, %w : tensor<?x8xf32, #n>, tensor<8x8xf32>) -> tensor<?x8xf32, #n> {
    ^bb0(%a: tensor<?x8xf32, #n>, %b: tensor<8x8xf32>):
      %0 = heddle.matmul %a, %b : tensor<?x8xf32, #n>, tensor<8x8xf32> -> tensor<?x8xf32, #n>
      heddle.yield %0 : tensor<?x8xf32, #n>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, Variadic<Heddle_Tensor>:$inputs);
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

// Views: other names for the same memory, which no kernel computes. A tensor is row-major, so that consecutive rows (or
// elements of a vector) lie together.
def SliceOp : Heddle_Op<"slice", [Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Consecutive rows of a tensor, from a constant row on; how many is the result's extent";
  let description = [{
    Gradients reach slices of tensors that have a static number of rows.

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
  let summary = "The same elements as a tensor of another shape: the columns of a row as heads side by side, and back";
  let description = [{
    The number of rows stays, or all extents are static.

    ```mlir
    %heads = heddle.reshape %x : tensor<?x96xf32, #heddle.dims<"tokens">> to tensor<?x6x16xf32, #heddle.dims<"tokens">>
    ```
  }];
  let arguments = (ins Heddle_Tensor:$input);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def ConcatOp : Heddle_Op<"concat", [Pure]> {
  let summary = "The rows of several tensors, one after another, made where they then stand";
  let description = [{
    Each part begins where the one before it ends at its maximum, so all parts before one that has any rows must be full:
    chunks of one tensor are.
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
include "dialects/Heddle/HeddleWindowOps.td"
include "dialects/Heddle/HeddleCollectiveOps.td"

#endif
