// Ops that choose the next token of a text.

def DrawOp : Heddle_Op<"draw", [Pure, AllTypesMatch<["temperature", "top_p", "cutoff"]>,
                                AllTypesMatch<["top_k", "key_low", "key_high", "token"]>]> {
  let summary = "A column of each row, drawn by the probabilities softmax(logits / temperature), or the likely ones of them";
  let description = [{
    Of a row those columns may be drawn whose logits are at least `cutoff`: the `top_k` most probable ones (0 or less, or as
    many as there are: all), and of these the fewest most probable ones that hold `top_p` of their probability (1 or more:
    all). Columns of equal logits are in together or out together. Minus infinity is never drawn; where all else is in,
    the cutoff is -FLT_MAX.

    A column is drawn by Gumbel's noise: the largest of logit / temperature - log(-log u). The u are Philox4x32-10 under
    the row's key at counter (column / 4, 0, 0, 0), word column % 4: a function of key and column alone. At temperature 0 it
    is the first of the largest logits.

    Where one of the logits is NaN, or none is more than minus infinity, the token is -1, and the cutoff any number.

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
  let summary = "Logits with those at some places less probable: divided by a penalty, or times it where they are negative";
  let description = [{
    The penalty of repetition of Keskar et al. 2019, CTRL, section 4.1. A place is a row and a column, and no two are equal. The
    result lives in the logits' memory.

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
  let summary = "Gumbel's noise, -log(-log u): the largest of log p + noise is drawn by the probabilities p";
  let description = [{
    The u are Philox4x32-10 at counter (column / 4, row, stream, step) under key `seed`, word column % 4, as in
    `heddle.dropout`; but each row says its number itself. So a row has the same noise wherever it stands: alone in a step of a
    recurrence, or in its batch.

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
