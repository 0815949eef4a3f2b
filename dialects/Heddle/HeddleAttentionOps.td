// Attention as imported (the ops of section 3.2.1, one by one) and as fused. Queries and keys are token-packed:
// sequence s owns rows [starts[s], starts[s] + lengths[s]), and a query sees only the keys of its own sequence.

// The unfused scores of all (query, key) pairs are in memory, as tensor<T x H x K>. Row t has K elements for each of H
// heads. Element j of a head belongs to the query in row t and to key j of its sequence. K is at least the length of
// the longest sequence of keys. Elements past a sequence's keys belong to no pair.
def Heddle_Scores : 3DTensorOf<[F32]>;

def LocateOp : Heddle_Op<"locate", [Pure, AllTypesMatch<["starts", "lengths"]>, AllTypesMatch<["position", "sequence"]>]> {
  let summary = "Each row's index in its sequence, and the sequence's number";
  let description = [{
    `row_size` names the run-time size that holds the longest sequence. It is empty if each sequence has one row.

    ```mlir
    %position, %sequence = heddle.locate rows(%starts, %lengths) {row_size = "length"}
        : tensor<?xi32, #heddle.dims<"sequences">> -> tensor<?xi32, #heddle.dims<"tokens">>
    ```
  }];
  let arguments = (ins Heddle_I32Vector:$starts, Heddle_I32Vector:$lengths, StrAttr:$row_size);
  let results = (outs Heddle_I32Vector:$position, Heddle_I32Vector:$sequence);
  let assemblyFormat = [{
    `rows` `(` $starts `,` $lengths `)` attr-dict `:` type($starts) `->` type($position)
  }];
}

// `query_size` and `key_size` are as in `heddle.attention`. The type of the scores gives the number of heads, which lie
// side by side in the columns of the matrices. Keys and values may have fewer heads of the same width, each shared by a
// group of neighbouring query heads (Ainslie et al. 2023). If a region computes the scores, keys and queries have the
// same number of heads.
class Heddle_PairsOp<string mnemonic, dag tensors, list<Trait> traits = []>
    : Heddle_Op<mnemonic, [Pure, PairsOpInterface] # traits> {
  let arguments = !con(tensors, (ins Heddle_I32Vector:$query_starts, Heddle_I32Vector:$query_lengths,
                                     Heddle_I32Vector:$key_starts, Heddle_I32Vector:$key_lengths,
                                     StrAttr:$query_size, StrAttr:$key_size));
  let hasVerifier = 1;
}

// With `key_rows`, a matrix with a row for each sequence, the keys of a sequence need not be neighbours: key i of
// sequence s is row key_rows[s, key_starts[s] + i] of the key matrix. So hypotheses of a beam search share the rows of
// a cache, and a graph's node attends to its neighbours. Gradients need the inverse lists. If each query is alone in
// its sequence, `users` gives them as three tensors with a row for each row of the key matrix: the query rows that have
// it as a key, its index among the keys of each of these queries, and the number of these queries.
defvar Heddle_Users = (ins Variadic<Heddle_Tensor>:$users);

defvar Heddle_PairsFormat = [{
    `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)` attr-dict `:`
    functional-type(operands, results)
}];

def ScoresOp : Heddle_PairsOp<"scores", (ins Heddle_F32Matrix:$query, Heddle_F32Matrix:$key,
                                             Optional<Heddle_I32Matrix>:$key_rows, Variadic<Heddle_F32Vector>:$parameters,
                                             Variadic<Heddle_Tensor>:$users),
                              [AttrSizedOperandSegments, SingleBlock, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Scores of each sequence and head: Q K^T (3.2.1), or computed by a region; zero for elements that belong to no pair";
  let description = [{
    The region `combine` takes the elements of one column: the query's, the key's, and that of each of `parameters`,
    which are rows. The score is the sum of the yielded values over the columns of the head. Without the region,
    elements of query and key are multiplied.

    ```mlir
    %scores = heddle.scores %q, %k parameters(%v) queries(%qs, %ql) keys(%ks, %kl) combine {
    ^bb0(%query: f32, %key: f32, %weight: f32):    // additive, Bahdanau et al. (2014), A.1.2
      %sum = arith.addf %query, %key : f32
      %tanh = math.tanh %sum : f32
      %part = arith.mulf %tanh, %weight : f32
      heddle.yield %part : f32
    } {query_size = "", key_size = "source_length"} : ...
    ```
  }];
  let regions = (region MaxSizedRegion<1>:$combine);
  let results = (outs Heddle_Scores:$result);
  let assemblyFormat = [{
    $query `,` $key (`rows` `(` $key_rows^ `)`)? (`parameters` `(` $parameters^ `)`)? (`users` `(` $users^ `)`)?
    `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)` (`combine` $combine^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "Type":$type, "Value":$query, "Value":$key, "Value":$key_rows, "Value":$query_starts,
                                 "Value":$query_lengths, "Value":$key_starts, "Value":$key_lengths,
                                 "StringRef":$query_size, "StringRef":$key_size), [{
    build($_builder, $_state, type, query, key, key_rows, /*parameters=*/ValueRange(), /*users=*/ValueRange(), query_starts,
          query_lengths, key_starts, key_lengths, query_size, key_size);
  }]>];
}

// The gradients of scores that a region computes. `slope` takes the arguments of `combine` and the gradient of the
// score. It yields the gradient of one of these arguments: the query's element, the key's, or a parameter's. The result
// sums it over the pairs of a query, or of a key.
class Heddle_ScoresGrad<string mnemonic, dag lists, string format> : Heddle_PairsOp<mnemonic,
    !con((ins Heddle_Scores:$gradient, Heddle_F32Matrix:$query, Heddle_F32Matrix:$key, Variadic<Heddle_F32Vector>:$parameters),
         lists),
    [AttrSizedOperandSegments, SingleBlock]> {
  let regions = (region SizedRegion<1>:$slope);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = !strconcat("$gradient `of` $query `,` $key (`parameters` `(` $parameters^ `)`)? ", format, [{
    `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)` `slope` $slope
    attr-dict `:` functional-type(operands, results)
  }]);
}

def ScoresGradQueryOp : Heddle_ScoresGrad<"scores_grad_query", (ins Optional<Heddle_I32Matrix>:$key_rows),
                                          "(`rows` `(` $key_rows^ `)`)?"> {
  let summary = "For each query, the sum of the slope over its keys: the gradient of the query, or of parameters";
  let description = [{
    ```mlir
    %dq = heddle.scores_grad_query %ds of %q, %k queries(%qs, %ql) keys(%ks, %kl) slope {
    ^bb0(%query: f32, %key: f32, %gradient: f32):    // if scores are dot products
      %part = arith.mulf %key, %gradient : f32
      heddle.yield %part : f32
    } {query_size = "length", key_size = "length"} : ...
    ```
  }];
}

def ScoresGradKeyOp : Heddle_ScoresGrad<"scores_grad_key", Heddle_Users, "(`users` `(` $users^ `)`)?"> {
  let summary = "For each key, the sum of the slope over its queries: the gradient of the key";
}

def ContextOp : Heddle_PairsOp<"context", (ins Heddle_Scores:$weights, Heddle_F32Matrix:$value,
                                               Optional<Heddle_I32Matrix>:$key_rows, Variadic<Heddle_Tensor>:$users),
                               [AttrSizedOperandSegments, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "W V of each sequence and head: for each query, the weighted sum of its keys' values (3.2.1)";
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = !strconcat("$weights `,` $value (`rows` `(` $key_rows^ `)`)? (`users` `(` $users^ `)`)?",
                                  Heddle_PairsFormat);
  let builders = [OpBuilder<(ins "Type":$type, "Value":$weights, "Value":$value, "Value":$key_rows, "Value":$query_starts,
                                 "Value":$query_lengths, "Value":$key_starts, "Value":$key_lengths,
                                 "StringRef":$query_size, "StringRef":$key_size), [{
    build($_builder, $_state, type, weights, value, key_rows, /*users=*/ValueRange(), query_starts, query_lengths, key_starts,
          key_lengths, query_size, key_size);
  }]>];
}

def TransposedContextOp : Heddle_PairsOp<"transposed_context", (ins Heddle_Scores:$weights, Heddle_F32Matrix:$input,
                                                                         Variadic<Heddle_Tensor>:$users),
                                         [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "W^T X of each sequence and head: for each key, the weighted sum of the rows of its queries";
  let description = [{ The gradients of `scores` and `context` use this op. }];
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = !strconcat("$weights `,` $input (`users` `(` $users^ `)`)?", Heddle_PairsFormat);
}

def MaskOp : Heddle_Op<"mask", [Pure, Heddle_Elementwise, SingleBlock, AllTypesMatch<["scores", "result"]>,
                                AllTypesMatch<["position", "sequence"]>,
                                DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Replaces scores that do not count by a value: by minus infinity, or, in their gradient, by zero";
  let description = [{
    An element counts if it belongs to a pair of query and key, and if the region, when there is one, yields true for
    (query index, key index). Both indices count from the start of the sequence. `position` and `sequence` are the
    results of `heddle.locate` for the queries.
  }];
  let arguments = (ins Heddle_Scores:$scores, Heddle_I32Vector:$position, Heddle_I32Vector:$sequence,
                       Heddle_I32Vector:$key_lengths, F32Attr:$value);
  let results = (outs Heddle_Scores:$result);
  let regions = (region MaxSizedRegion<1>:$mask);
  let assemblyFormat = [{
    $scores `at` `(` $position `,` $sequence `)` `keys` `(` $key_lengths `)` (`mask` $mask^)? attr-dict `:`
    type($scores) `,` type($position) `,` type($key_lengths)
  }];
  let hasVerifier = 1;
}

def SoftmaxOp : Heddle_Op<"softmax", [Pure, AllTypesMatch<["input", "result"]>,
                                      RowwiseOpInterface, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Softmax along the last dimension; a row of minus infinities becomes zeros";
  let description = [{
    `sink` has a number for each head, one more score of each of its rows. The sum of powers counts it, but the result
    has no element for it (attention sinks; Xiao et al. 2023, gpt-oss).

    ```mlir
    %weights = heddle.softmax %scores sink(%sink : tensor<4xf32>) : tensor<?x4x256xf32, #tokens>
    ```
  }];
  let arguments = (ins Heddle_Scores:$input, Optional<Heddle_F32Vector>:$sink);
  let results = (outs Heddle_Scores:$result);
  let assemblyFormat = "$input (`sink` `(` $sink^ `:` type($sink) `)`)? attr-dict `:` type($input)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "Value":$input), [{
    build($_builder, $_state, input.getType(), input, /*sink=*/Value());
  }]>];
}

def SoftmaxGradOp : Heddle_Op<"softmax_grad", [Pure, SameOperandsAndResultType]> {
  let summary = "The gradient of softmax's input, from its result p: p * (gradient - sum(p * gradient))";
  let arguments = (ins Heddle_Scores:$output, Heddle_Scores:$gradient);
  let results = (outs Heddle_Scores:$result);
  let assemblyFormat = "$output `,` $gradient attr-dict `:` type($output)";
}

// `query_size` and `key_size` name the run-time sizes that hold the longest query and key sequence of the batch. They
// are empty if every sequence has one row. `seed` and `step` are present if and only if `dropout` is above 0. The
// regions contain elementwise arithmetic of `arith` and `math` on scalars.
class Heddle_AttentionBase<string mnemonic, dag tensors, dag scoreRegions, list<Trait> traits = []>
    : Heddle_Op<mnemonic, [Pure, AttrSizedOperandSegments, SingleBlock, PairsOpInterface,
                            DeclareOpInterfaceMethods<ProductOpInterface, ["getHeadWidth"]>] # traits> {
  let arguments = !con(tensors,
      (ins Heddle_I32Vector:$query_starts, Heddle_I32Vector:$query_lengths, Heddle_I32Vector:$key_starts,
           Heddle_I32Vector:$key_lengths, Optional<Heddle_Seed>:$seed, Optional<Heddle_Step>:$step),
      (ins I64Attr:$heads, F32Attr:$scale, DefaultValuedAttr<F32Attr, "0.0f">:$dropout,
           DefaultValuedAttr<I32Attr, "0">:$stream, StrAttr:$query_size, StrAttr:$key_size));
  let regions = !con(scoreRegions, (region MaxSizedRegion<1>:$mask));
  let hasVerifier = 1;
}

defvar Heddle_AttentionSequences = [{
    `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)`
    (`dropout` `(` $seed^ `,` $step `)`)?
}];
defvar Heddle_AttentionEnd = "(`mask` $mask^)? attr-dict `:` functional-type(operands, results)";

def AttentionOp : Heddle_AttentionBase<"attention",
    (ins Heddle_ProductOperand:$query, Heddle_ProductOperand:$key, Heddle_ProductOperand:$value, Optional<Heddle_I32Matrix>:$key_rows,
         Optional<Heddle_F32Vector>:$sink, DefaultValuedAttr<I64Attr, "0">:$part_keys),
    (region MaxSizedRegion<1>:$score), [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Scaled dot-product attention of all heads and sequences (3.2); the scores never reach memory";
  let description = [{
    softmax(scale * Q K^T) V for each head. Heads lie side by side in the columns. Keys and values may have fewer heads
    of the same width, each shared by a group of neighbouring query heads (grouped-query attention, Ainslie et al. 2023;
    with one head, multi-query attention, Shazeer 2019). The backward pass computes the probabilities again from
    `log_sum_exp` (tensor<TxH>).

    The optional `score` region takes (scaled score, query index, key index, head), an f32 and three i32. It yields
    the score that enters the softmax, for example with a soft cap or a bias by distance. The optional `mask` region
    takes (query index, key index) and yields true if the pair counts. Indices count within the sequence. Dropout
    acts on the probabilities.

    ```mlir
    %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l) score {
    ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):   // never more than 50
      %cap = arith.constant 50.0 : f32
      %part = arith.divf %score, %cap : f32
      %soft = math.tanh %part : f32
      %capped = arith.mulf %soft, %cap : f32
      heddle.yield %capped : f32
    } mask {
    ^bb0(%query: i32, %key: i32):                            // causal
      %counts = arith.cmpi sle, %key, %query : i32
      heddle.yield %counts : i1
    } {heads = 8 : i64, ...} : ...
    ```

    `key_rows` are lists, as in the ops on pairs. There is no gradient through them. `sink` is that of `heddle.softmax`:
    `log_sum_exp` counts it, so the gradients of query, key and value need not know it.

    With `part_keys`, attention to each part of so many keys of a sequence is a result of its own: for P parts, the
    results have P times as many columns, part by part. `heddle.merge_parts` makes attention to all keys of them. Parts
    without keys, except the first, are not written. Each sequence then has one query, and the score depends on no index.
  }];
  let results = (outs Heddle_F32Matrix:$result, Heddle_F32Matrix:$log_sum_exp);
  let assemblyFormat = !strconcat("$query `,` $key `,` $value (`rows` `(` $key_rows^ `)`)? (`sink` `(` $sink^ `)`)?",
                                  Heddle_AttentionSequences, "(`score` $score^)?", Heddle_AttentionEnd);
  let hasCanonicalizer = 1;
}

def MergePartsOp : Heddle_Op<"merge_parts", [Pure]> {
  let summary = "Attention to all keys of a sequence, from the attention to each part of them";
  let description = [{
    `parts` and `log_sum_exp` are the results of `heddle.attention` with `part_keys`. A part's weight is
    exp(log_sum_exp), divided by the sum of these powers over all parts (Dao et al. 2023, "Flash-Decoding"). `sink` is that of
    `heddle.attention`: the parts do not know it.

    ```mlir
    %y = heddle.merge_parts %parts, %lse queries(%qs, %ql) keys(%kl) {heads = 9 : i64, part_keys = 128 : i64}
        : (tensor<?x9216xf32, #sequences>, tensor<?x144xf32, #sequences>, ...) -> tensor<?x576xf32, #sequences>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$parts, Heddle_F32Matrix:$log_sum_exp, Heddle_I32Vector:$query_starts,
                       Heddle_I32Vector:$query_lengths, Heddle_I32Vector:$key_lengths, Optional<Heddle_F32Vector>:$sink,
                       I64Attr:$heads, I64Attr:$part_keys);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $parts `,` $log_sum_exp `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_lengths `)`
    (`sink` `(` $sink^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def AttentionDeltaOp : Heddle_Op<"attention_delta", [Pure, AllTypesMatch<["forward", "gradient"]>]> {
  let summary = "Per token and head, the dot product of attention's result and its gradient";
  let arguments = (ins Heddle_F32Matrix:$forward, Heddle_F32Matrix:$gradient);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$forward `,` $gradient attr-dict `:` type($gradient) `->` type($result)";
  let hasVerifier = 1;
}

// The two ops of the backward pass compute the probabilities again, tile by tile. One iterates over the keys of a tile
// of queries, the other over the queries of a tile of keys, so that neither needs atomic additions. If there is a
// `score` region, `score_gradient` takes its arguments and the gradient of its result, an f32, and yields the gradient
// of the scaled score.
defvar Heddle_AttentionGradRegions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$score_gradient);
defvar Heddle_AttentionGradFormat = !strconcat("$query `,` $key `,` $value `gradient` $gradient `,` $log_sum_exp `,` $delta",
    Heddle_AttentionSequences, "(`score` $score^ `score_gradient` $score_gradient)?", Heddle_AttentionEnd);
defvar Heddle_AttentionGradOperands = (ins Heddle_ProductOperand:$query, Heddle_ProductOperand:$key, Heddle_ProductOperand:$value,
    Heddle_ProductOperand:$gradient, Heddle_F32Matrix:$log_sum_exp, Heddle_F32Matrix:$delta);

def AttentionGradQueryOp : Heddle_AttentionBase<"attention_grad_query", Heddle_AttentionGradOperands,
                                                   Heddle_AttentionGradRegions> {
  let summary = "The gradient of attention's query";
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = Heddle_AttentionGradFormat;
}

def AttentionGradKeyValueOp : Heddle_AttentionBase<"attention_grad_key_value", Heddle_AttentionGradOperands,
                                                      Heddle_AttentionGradRegions> {
  let summary = "The gradients of attention's key and value";
  let results = (outs Heddle_F32Matrix:$key_gradient, Heddle_F32Matrix:$value_gradient);
  let assemblyFormat = Heddle_AttentionGradFormat;
}
