// Attention, as imported (the ops of 3.2.1 one by one) and as fused. Queries and keys are token-packed: sequence s owns
// rows [starts[s], starts[s] + lengths[s]), and a query sees the keys of its own sequence only.

def SplitHeadsOp : Heddle_Op<"split_heads", [Pure]> {
  let summary = "tensor<T x (H*D)> -> tensor<H x T x D> (3.2.2)";
  let arguments = (ins Heddle_F32Matrix:$input);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def MergeHeadsOp : Heddle_Op<"merge_heads", [Pure]> {
  let summary = "tensor<H x T x D> -> tensor<T x (H*D)> (3.2.2)";
  let arguments = (ins 3DTensorOf<[F32]>:$input);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def BatchMatmulOp : Heddle_Op<"batch_matmul", [Pure]> {
  let summary = "A matrix product for each head; `transpose_rhs` contracts the last dimensions";
  let arguments = (ins 3DTensorOf<[F32]>:$lhs, 3DTensorOf<[F32]>:$rhs, UnitAttr:$transpose_rhs);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def MaskOp : Heddle_Op<"mask", [Pure, SingleBlock, AllTypesMatch<["scores", "result"]>,
                                AllTypesMatch<["query_starts", "query_lengths", "key_starts", "key_lengths"]>]> {
  let summary = "Sets scores of pairs that do not count to minus infinity";
  let description = [{
    A pair counts if query and key are of the same sequence and the region, where there is one, yields true for
    (query index, key index), both counted from their sequence's start. `query_size` and `key_size` are those of
    `heddle.attention`, for the pass that makes one of it.
  }];
  let arguments = (ins 3DTensorOf<[F32]>:$scores, Heddle_I32Vector:$query_starts, Heddle_I32Vector:$query_lengths,
                       Heddle_I32Vector:$key_starts, Heddle_I32Vector:$key_lengths, StrAttr:$query_size,
                       StrAttr:$key_size);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let regions = (region MaxSizedRegion<1>:$mask);
  let assemblyFormat = [{
    $scores `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)`
    (`mask` $mask^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def SoftmaxOp : Heddle_Op<"softmax", [Pure, SameOperandsAndResultType]> {
  let summary = "Softmax along the last dimension; a row of minus infinities becomes zeros";
  let arguments = (ins 3DTensorOf<[F32]>:$input);
  let results = (outs 3DTensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

// `query_size` and `key_size` name the run-time sizes that hold the longest query and key sequence of the batch, or are
// empty where every sequence has one row. `seed` and `step` are there if and only if `dropout` is.
class Heddle_AttentionBase<string mnemonic, dag tensors, list<Trait> traits = []>
    : Heddle_Op<mnemonic, [Pure, AttrSizedOperandSegments, SingleBlock,
                            DeclareOpInterfaceMethods<ProductOpInterface>] # traits> {
  let arguments = !con(tensors,
      (ins Heddle_I32Vector:$query_starts, Heddle_I32Vector:$query_lengths, Heddle_I32Vector:$key_starts,
           Heddle_I32Vector:$key_lengths, Optional<Heddle_Seed>:$seed, Optional<Heddle_Step>:$step),
      (ins I64Attr:$heads, F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$dropout,
           DefaultValuedAttr<I32Attr, "0">:$stream, StrAttr:$query_size, StrAttr:$key_size));
  let regions = (region MaxSizedRegion<1>:$mask);
  let hasVerifier = 1;
}

defvar Heddle_AttentionFormat = [{
    `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)`
    (`dropout` `(` $seed^ `,` $step `)`)? (`mask` $mask^)? attr-dict `:` functional-type(operands, results)
}];

def AttentionOp : Heddle_AttentionBase<"attention",
    (ins Heddle_Factor:$query, Heddle_Factor:$key, Heddle_Factor:$value),
    [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Scaled dot-product attention of all heads and sequences (3.2), the scores never in memory";
  let description = [{
    softmax(scale * Q K^T) V for each head; heads lie side by side in the columns. `log_sum_exp` (tensor<TxH>) is what
    the backward pass needs to make the probabilities again. The optional `mask` region gets (query index, key index)
    within the sequence, both i32, and yields whether the pair counts. Dropout acts on the probabilities.
  }];
  let results = (outs Heddle_F32Matrix:$result, Heddle_F32Matrix:$log_sum_exp);
  let assemblyFormat = !strconcat("$query `,` $key `,` $value", Heddle_AttentionFormat);
}

def AttentionDeltaOp : Heddle_Op<"attention_delta", [Pure, AllTypesMatch<["forward", "gradient"]>]> {
  let summary = "Per token and head, the dot product of attention's result and its gradient";
  let arguments = (ins Heddle_F32Matrix:$forward, Heddle_F32Matrix:$gradient);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$forward `,` $gradient attr-dict `:` type($gradient) `->` type($result)";
  let hasVerifier = 1;
}

// The two halves of the backward pass make the probabilities again, tile by tile: one walks over the keys of a tile of
// queries, the other over the queries of a tile of keys, so that neither needs atomic additions.
defvar Heddle_AttentionGradOperands = (ins Heddle_Factor:$query, Heddle_Factor:$key, Heddle_Factor:$value,
    Heddle_Factor:$gradient, Heddle_F32Matrix:$log_sum_exp, Heddle_F32Matrix:$delta);

def AttentionGradQueryOp : Heddle_AttentionBase<"attention_grad_query", Heddle_AttentionGradOperands> {
  let summary = "The gradient of attention's query";
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = !strconcat("$query `,` $key `,` $value `gradient` $gradient `,` $log_sum_exp `,` $delta", Heddle_AttentionFormat);
}

def AttentionGradKeyValueOp : Heddle_AttentionBase<"attention_grad_key_value", Heddle_AttentionGradOperands> {
  let summary = "The gradients of attention's key and value";
  let results = (outs Heddle_F32Matrix:$key_gradient, Heddle_F32Matrix:$value_gradient);
  let assemblyFormat = !strconcat("$query `,` $key `,` $value `gradient` $gradient `,` $log_sum_exp `,` $delta", Heddle_AttentionFormat);
}
