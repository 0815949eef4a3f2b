// Ops that choose the next token of a text.

def DrawOp : Heddle_Op<"draw", [Pure, AllTypesMatch<["temperature", "top_p", "cutoff"]>,
                                AllTypesMatch<["top_k", "key_low", "key_high", "token"]>]> {
  let summary = "Draws a column of each row with the probabilities softmax(logits / temperature), or only among likely columns";
  let description = [{
    A column can be drawn if its logit is at least `cutoff`. The cutoff admits the `top_k` most probable columns (all,
    if `top_k` is 0 or less, or at least the number of columns), and among these the smallest number of most probable
    columns that hold `top_p` of their probability (all, if `top_p` is 1 or more). Columns with equal logits are
    admitted together or not at all. Minus infinity is never drawn. If everything else is admitted, the cutoff is
    -FLT_MAX.

    Columns are drawn with Gumbel noise: the column with the largest logit / temperature - log(-log u) wins. Here u is
    word column % 4 of Philox4x32-10 under the row's key at counter (column / 4, 0, 0, 0), a function of key and column
    only. At temperature 0 the first of the largest logits wins.

    If a logit is NaN, or no logit is above minus infinity, the token is -1 and the cutoff is any number.

    ```mlir
    %token, %cutoff = heddle.draw %logits, %temperature, %top_k, %top_p key(%low, %high)
        : tensor<?x49152xf32, #sequences>, tensor<?xf32, #sequences>, tensor<?xi32, #sequences>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$logits, Heddle_F32Vector:$temperature, Heddle_I32Vector:$top_k,
                       Heddle_F32Vector:$top_p, Heddle_I32Vector:$key_low, Heddle_I32Vector:$key_high);
  let results = (outs Heddle_I32Vector:$token, Heddle_F32Vector:$cutoff);
  let assemblyFormat = [{
    $logits `,` $temperature `,` $top_k `,` $top_p `key` `(` $key_low `,` $key_high `)` attr-dict `:` type($logits) `,`
    type($temperature) `,` type($top_k)
  }];
  let hasVerifier = 1;
}

def PenaliseOp : Heddle_Op<"penalise", [Pure, AllTypesMatch<["logits", "result"]>, AllTypesMatch<["rows", "columns"]>]> {
  let summary = "Makes the logits at some places less probable: divides them by a penalty, or multiplies negative ones by it";
  let description = [{
    The repetition penalty of Keskar et al. 2019, CTRL, section 4.1. A place is a row and a column, and no two places
    are equal. The result lives in the logits' memory.

    ```mlir
    %0 = heddle.penalise %logits at(%rows, %columns) by %penalties
        : tensor<?x49152xf32, #sequences>, tensor<?xi32, #seen>, tensor<?xf32, #seen>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$logits, Heddle_I32Vector:$rows, Heddle_I32Vector:$columns,
                       Heddle_F32Vector:$penalties);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $logits `at` `(` $rows `,` $columns `)` `by` $penalties attr-dict `:` type($logits) `,` type($rows) `,` type($penalties)
  }];
  let hasVerifier = 1;
}

def GumbelOp : Heddle_Op<"gumbel", [Pure, Heddle_Elementwise,
                                    DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "Gumbel noise, -log(-log u): the index of the largest log p + noise is distributed as p";
  let description = [{
    Here u is word column % 4 of Philox4x32-10 at counter (column / 4, row, stream, step) under key `seed`, as in
    `heddle.dropout`, but an operand gives the number of each row. So a row has the same noise wherever it is: alone in
    a step of a recurrence, or in its batch.

    ```mlir
    %noise = heddle.gumbel %numbers seed %seed step %step {stream = 0 : i32}
        : tensor<?xi32, #heddle.dims<"tokens">> to tensor<?x16xf32, #heddle.dims<"tokens">>
    ```
  }];
  let arguments = (ins Heddle_I32Vector:$rows, Heddle_Seed:$seed, Heddle_Step:$step, I32Attr:$stream);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$rows `seed` $seed `step` $step attr-dict `:` type($rows) `to` type($result)";
  let hasVerifier = 1;
}
