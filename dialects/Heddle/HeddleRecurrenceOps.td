// Recurrence: states that pass from token to token of each sequence, and ops that cut and join columns for it.

def ScanOp : Heddle_Op<"scan", [Pure, AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock]> {
  let summary = "Iterates over the tokens of each sequence, with states that pass from token to token";
  let description = [{
    Sequence s owns the rows [starts[s], starts[s] + lengths[s]). The region runs for each of its tokens in order (with
    `reverse` from the last to the first). It takes the token's row of each of `rows`, the sequence's row of each state,
    and `constants` as they are. It yields the new states, and then rows of outputs. `states` are the states before the
    first token, a row for each sequence. The results are the states after the last token, a row for each sequence, and
    the outputs, a row for each token. Output rows that no sequence owns are undefined.

    Within the region a value has a row for each sequence that has a token at this step. This number of rows is the
    run-time size `step`, which is declared as `of` the number of sequences. The region contains only ops that compute
    each row on its own. `row_size` names the run-time size that holds the longest sequence.

    ```mlir
    heddle.size @step max 64 of @sequences from 0
    %last, %all = heddle.scan rows(%x) states(%h0) constants(%u) of(%starts, %lengths) {row_size = "length", step = "step"}
        : (tensor<?x8xf32, #tokens>, tensor<?x8xf32, #sequences>, tensor<8x8xf32>, tensor<?xi32, #sequences>,
           tensor<?xi32, #sequences>) -> (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>) {
    ^bb0(%now: tensor<?x8xf32, #step>, %h: tensor<?x8xf32, #step>, %w: tensor<8x8xf32>):    // Elman's network
      %0 = heddle.matmul %h, %w : tensor<?x8xf32, #step>, tensor<8x8xf32> -> tensor<?x8xf32, #step>
      %1 = arith.addf %now, %0 : tensor<?x8xf32, #step>
      %2 = math.tanh %1 : tensor<?x8xf32, #step>
      heddle.yield %2, %2 : tensor<?x8xf32, #step>, tensor<?x8xf32, #step>
    }
    ```
  }];
  let arguments = (ins Variadic<Heddle_Tensor>:$rows, Variadic<Heddle_Tensor>:$states, Variadic<Heddle_Tensor>:$constants,
                       Heddle_I32Vector:$starts, Heddle_I32Vector:$lengths, StrAttr:$row_size, StrAttr:$step,
                       UnitAttr:$reverse);
  let results = (outs Variadic<Heddle_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `rows` `(` $rows `)` `states` `(` $states `)` `constants` `(` $constants `)` `of` `(` $starts `,` $lengths `)`
    (`reverse` $reverse^)? attr-dict `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The states after the last token, and the outputs.
    ResultRange getLast() { return getResults().take_front(getStates().size()); }
    ResultRange getOutputs() { return getResults().drop_front(getStates().size()); }
    /// The region's arguments, by the operands that they stand for.
    Block::BlockArgListType getRowArguments() { return getBody().getArguments().take_front(getRows().size()); }
    Block::BlockArgListType getStateArguments() {
      return getBody().getArguments().slice(getRows().size(), getStates().size());
    }
    Block::BlockArgListType getConstantArguments() { return getBody().getArguments().take_back(getConstants().size()); }
    /// Returns `type` as a type of the region: a row for each sequence of this step instead of each token or sequence.
    RankedTensorType getStepType(Type type);
    /// The inverse: returns `type` with a row for each token. A type without rows of steps stays as it is.
    RankedTensorType getTokenType(Type type);
    /// Returns the operand that an argument of the region stands for, or null for states.
    Value getOutside(BlockArgument argument);
  }];
}

def RepeatOp : Heddle_Op<"repeat", [Pure, AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock]> {
  let summary = "Runs its region for each step of the longest sequence, with values carried from step to step";
  let description = [{
    `heddle-lower-scans` creates it from a scan. There are `trips` steps (a run-time size; with `reverse` the last step
    comes first). Step i works on the rows [starts[i], starts[i] + counts[i]) of tensors of tokens, which are in the
    order of steps, and on the first counts[i] rows of tensors of sequences, which are in the order of their lengths. In
    step i, the run-time size `step` is counts[i]. All counts together are the run-time size `tokens`.
    The region takes the number of the step's first row, the carried values, and `constants`, and yields the carried
    values. Each of these stays in the memory where it begins.
  }];
  let arguments = (ins Variadic<Heddle_Tensor>:$carried, Variadic<Heddle_Tensor>:$constants, Heddle_I32Vector:$starts,
                       Heddle_I32Vector:$counts, StrAttr:$trips, StrAttr:$step, StrAttr:$tokens, UnitAttr:$reverse);
  let results = (outs Variadic<Heddle_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips `carried` `(` $carried `)` `constants` `(` $constants `)` `steps` `(` $starts `,` $counts `)`
    (`reverse` $reverse^)? attr-dict `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
}

//===-- Rows of a step ------------------------------------------------------------------------------------------===//

def EmptyOp : Heddle_Op<"empty", [Pure]> {
  let summary = "Memory that is not written yet, into which a repetition writes rows";
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def StepRowsOp : Heddle_Op<"step_rows", [Pure, Heddle_Elementwise]> {
  let summary = "The rows of a step, from a row on that is known only at run time";
  let arguments = (ins Heddle_Tensor:$input, Heddle_Step:$start);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$input `at` $start attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def InsertRowsOp : Heddle_Op<"insert_rows", [Pure, Heddle_Elementwise, AllTypesMatch<["destination", "result"]>]> {
  let summary = "The destination with the rows of a step replaced";
  let description = [{ The result lives in the destination's memory. }];
  let arguments = (ins Heddle_Tensor:$rows, Heddle_Tensor:$destination, Heddle_Step:$start);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$rows `into` $destination `at` $start attr-dict `:` type($rows) `into` type($result)";
  let hasVerifier = 1;
}

def ReplaceFirstOp : Heddle_Op<"replace_first", [Pure, AllTypesMatch<["destination", "result"]>]> {
  let summary = "The destination with its first rows replaced; these rows are computed in their final place";
  let arguments = (ins Heddle_Tensor:$rows, Heddle_Tensor:$destination);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$rows `of` $destination attr-dict `:` type($rows) `of` type($result)";
  let hasVerifier = 1;
}

//===-- The order of steps --------------------------------------------------------------------------------------===//
// In the order of steps, the first tokens of all sequences come first, the longest sequence first, then the second
// tokens, and so on. The sequences that have a token at a step are the first of the sequences at the step before it.

def RankOp : Heddle_Op<"rank", [Pure, AllTypesMatch<["lengths", "result"]>]> {
  let summary = "The place of each number in falling order; among equal numbers the earlier one comes first";
  let arguments = (ins Heddle_I32Vector:$lengths);
  let results = (outs Heddle_I32Vector:$result);
  let assemblyFormat = "$lengths attr-dict `:` type($lengths)";
}

def StepSizesOp : Heddle_Op<"step_sizes", [Pure, AllTypesMatch<["starts", "counts"]>]> {
  let summary = "For each step its first row in the order of steps, and the number of sequences that have a token there";
  let description = [{ There are no rows past the run-time size `tokens`: lengths that add up to more are cut off. }];
  let arguments = (ins Heddle_I32Vector:$lengths, StrAttr:$tokens);
  let results = (outs Heddle_I32Vector:$starts, Heddle_I32Vector:$counts);
  let assemblyFormat = "$lengths attr-dict `:` type($lengths) `->` type($starts)";
  let hasVerifier = 1;
}

def StepOrderOp : Heddle_Op<"step_order", [Pure, Heddle_Elementwise, AllTypesMatch<["position", "sequence", "places", "rows"]>,
                                           AllTypesMatch<["rank", "order", "sequence_starts"]>]> {
  let summary = "The place of each token in the order of steps, and the token at each place in that order";
  let arguments = (ins Heddle_I32Vector:$position, Heddle_I32Vector:$sequence, Heddle_I32Vector:$starts,
                       Heddle_I32Vector:$rank, Heddle_I32Vector:$order, Heddle_I32Vector:$sequence_starts);
  let results = (outs Heddle_I32Vector:$places, Heddle_I32Vector:$rows);
  let assemblyFormat = [{
    $position `,` $sequence `steps` $starts `rank` $rank `order` $order `starts` $sequence_starts attr-dict `:`
    type($position) `,` type($starts) `,` type($rank)
  }];
}

//===-- Columns -------------------------------------------------------------------------------------------------===//

def ColumnsOp : Heddle_Op<"columns", [Pure, Heddle_Elementwise, RowwiseOpInterface,
                                      DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Neighbouring columns of each row, from a constant column on; the result's extent says how many";
  let description = [{
    ```mlir
    %gate = heddle.columns %gates from 256 : tensor<?x1024xf32, #tokens> -> tensor<?x256xf32, #tokens>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$input, I64Attr:$from);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$input `from` $from attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def JoinOp : Heddle_Op<"join", [Pure, Heddle_Elementwise, RowwiseOpInterface,
                                DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The columns of several matrices side by side";
  let description = [{
    ```mlir
    %both = heddle.join %right, %left : tensor<?x256xf32, #tokens>, tensor<?x256xf32, #tokens> -> tensor<?x512xf32, #tokens>
    ```
  }];
  let arguments = (ins Variadic<Heddle_F32Matrix>:$parts);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
