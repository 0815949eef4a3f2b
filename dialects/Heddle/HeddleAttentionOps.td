// Attention, as imported (the ops of 3.2.1 one by one) and as fused. Queries and keys are token-packed: sequence s owns
// rows [starts[s], starts[s] + lengths[s]), and a query sees the keys of its own sequence only.

// Unfused, the scores of all (query, key) pairs of a sequence are in memory, as tensor<T x H x K>: row t has, for each of
// H heads, K elements, of which element j belongs to the query in row t and key j of its sequence. K is at least as large
// as the longest sequence of keys; elements past a sequence's keys belong to no pair.
def Heddle_Scores : 3DTensorOf<[F32]>;

def LocateOp : Heddle_Op<"locate", [Pure, AllTypesMatch<["starts", "lengths"]>, AllTypesMatch<["position", "sequence"]>]> {
  let summary = "Each row's index in its sequence, and the sequence's number";
  let description = [{
    `row_size` names the run-time size that holds the longest sequence, or is empty where each has one row.

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

// `query_size` and `key_size` as in `heddle.attention`. The sizes of the scores say how many heads there are, which lie
// side by side in the columns of the matrices. Keys and values may have fewer, of the same width, each for a group of
// neighbouring heads of queries (Ainslie et al. 2023); but for scores that a region makes.
class Heddle_PairsOp<string mnemonic, dag tensors, list<Trait> traits = []>
    : Heddle_Op<mnemonic, [Pure, PairsOpInterface] # traits> {
  let arguments = !con(tensors, (ins Heddle_I32Vector:$query_starts, Heddle_I32Vector:$query_lengths,
                                     Heddle_I32Vector:$key_starts, Heddle_I32Vector:$key_lengths,
                                     StrAttr:$query_size, StrAttr:$key_size));
  let hasVerifier = 1;
}

// Keys through lists: the keys of a sequence need not be neighbours. With `key_rows`, a matrix with a row for each sequence, key i
// of sequence s is row key_rows[s, key_starts[s] + i] of the keys' matrix. So hypotheses of a beam search share the rows of a
// cache, and a graph's node looks at its neighbours. Gradients need the lists the other way round: where each query is alone
// in its sequence, `users` are three tensors with a row for each row of the keys' matrix: rows of queries that have it as a
// key, the number that it has among the keys of each, and how many queries these are.
defvar Heddle_Users = (ins Variadic<Heddle_Tensor>:$users);

defvar Heddle_PairsFormat = [{
    `queries` `(` $query_starts `,` $query_lengths `)` `keys` `(` $key_starts `,` $key_lengths `)` attr-dict `:`
    functional-type(operands, results)
}];

def ScoresOp : Heddle_PairsOp<"scores", (ins Heddle_F32Matrix:$query, Heddle_F32Matrix:$key,
                                             Optional<Heddle_I32Matrix>:$key_rows, Variadic<Heddle_F32Vector>:$parameters,
                                             Variadic<Heddle_Tensor>:$users),
                              [AttrSizedOperandSegments, SingleBlock, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Q K^T of each sequence and head (3.2.1), or other scores; zero for elements that belong to no pair";
  let description = [{
    The region `combine` gets, of one column, the
    query's element, the key's, and that of each of `parameters`, rows of numbers for all columns; the score is the sum of what
    it yields over the columns of the head. Without it elements are multiplied.

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

// The gradients of scores that a region makes. `slope` gets what `combine` gets and the gradient of the score, and yields what
// that is worth to the element that the gradient is of: the query's, the key's, or a parameter's. It is summed up over the
// pairs of a query, or of a key.
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
  let summary = "For each query the sum over its keys of what the slope yields: the gradient of the query, or of parameters";
  let description = [{
    ```mlir
    %dq = heddle.scores_grad_query %ds of %q, %k queries(%qs, %ql) keys(%ks, %kl) slope {
    ^bb0(%query: f32, %key: f32, %gradient: f32):    // of products
      %part = arith.mulf %key, %gradient : f32
      heddle.yield %part : f32
    } {query_size = "length", key_size = "length"} : ...
    ```
  }];
}

def ScoresGradKeyOp : Heddle_ScoresGrad<"scores_grad_key", Heddle_Users, "(`users` `(` $users^ `)`)?"> {
  let summary = "For each key the sum over its queries of what the slope yields";
}

def ContextOp : Heddle_PairsOp<"context", (ins Heddle_Scores:$weights, Heddle_F32Matrix:$value,
                                               Optional<Heddle_I32Matrix>:$key_rows, Variadic<Heddle_Tensor>:$users),
                               [AttrSizedOperandSegments, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "W V of each sequence and head: for each query the sum of its keys' values times their weights (3.2.1)";
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
  let summary = "W^T X of each sequence and head: for each key the sum of the queries' rows times their weights";
  let description = [{ With it `scores` and `context` are each other's gradients. }];
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = !strconcat("$weights `,` $input (`users` `(` $users^ `)`)?", Heddle_PairsFormat);
}

def MaskOp : Heddle_Op<"mask", [Pure, Heddle_Elementwise, SingleBlock, AllTypesMatch<["scores", "result"]>,
                                AllTypesMatch<["position", "sequence"]>,
                                DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Sets the elements of scores that do not count to a value: to minus infinity, or zero in their gradient";
  let description = [{
    An element counts if it belongs to a pair of query and key, and the region, where there is one, yields true for
    (query index, key index), both counted from their sequence's start. `position` and `sequence` are those of the
    queries, as `heddle.locate` makes them.
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

def SoftmaxOp : Heddle_Op<"softmax", [Pure, SameOperandsAndResultType, RowwiseOpInterface,
                                      DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Softmax along the last dimension; a row of minus infinities becomes zeros";
  let arguments = (ins Heddle_Scores:$input);
  let results = (outs Heddle_Scores:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def SoftmaxGradOp : Heddle_Op<"softmax_grad", [Pure, SameOperandsAndResultType]> {
  let summary = "The gradient of softmax's input, from its result p: p * (gradient - sum(p * gradient))";
  let arguments = (ins Heddle_Scores:$output, Heddle_Scores:$gradient);
  let results = (outs Heddle_Scores:$result);
  let assemblyFormat = "$output `,` $gradient attr-dict `:` type($output)";
}

// `query_size` and `key_size` name the run-time sizes that hold the longest query and key sequence of the batch, or are
// empty where every sequence has one row. `seed` and `step` are there if and only if `dropout` is. What the regions hold
// is elementwise arithmetic of `arith` and `math` on scalars.
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
    (ins Heddle_ProductOperand:$query, Heddle_ProductOperand:$key, Heddle_ProductOperand:$value, Optional<Heddle_I32Matrix>:$key_rows),
    (region MaxSizedRegion<1>:$score), [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Scaled dot-product attention of all heads and sequences (3.2), the scores never in memory";
  let description = [{
    softmax(scale * Q K^T) V for each head; heads lie side by side in the columns. Keys and values may have fewer heads, of
    the same width: each is that of a group of neighbouring heads of queries (grouped-query attention, Ainslie et al. 2023;
    multi-query attention, Shazeer 2019, where there is one). `log_sum_exp` (tensor<TxH>) is what
    the backward pass needs to make the probabilities again. The optional `score` region gets (scaled score, query index,
    key index, head), an f32 and three i32, and yields the score that the softmax is of: a bias by place, a soft cap. The
    optional `mask` region gets (query index, key index) and yields whether the pair counts. Indices are within the
    sequence. Dropout acts on the probabilities.

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

    `key_rows` are lists as those of ops on pairs; there is no gradient through them.
  }];
  let results = (outs Heddle_F32Matrix:$result, Heddle_F32Matrix:$log_sum_exp);
  let assemblyFormat = !strconcat("$query `,` $key `,` $value (`rows` `(` $key_rows^ `)`)?", Heddle_AttentionSequences,
                                  "(`score` $score^)?", Heddle_AttentionEnd);
  let hasCanonicalizer = 1;
}

def AttentionDeltaOp : Heddle_Op<"attention_delta", [Pure, AllTypesMatch<["forward", "gradient"]>]> {
  let summary = "Per token and head, the dot product of attention's result and its gradient";
  let arguments = (ins Heddle_F32Matrix:$forward, Heddle_F32Matrix:$gradient);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$forward `,` $gradient attr-dict `:` type($gradient) `->` type($result)";
  let hasVerifier = 1;
}

// The two halves of the backward pass make the probabilities again, tile by tile: one walks over the keys of a tile of
// queries, the other over the queries of a tile of keys, so that neither needs atomic additions. Where there is a `score`
// region, `score_gradient` gets what it gets and the gradient of its result, an f32, and yields that of the scaled score.
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
