// Ops that anchor a kernel: matmuls, reductions along rows and columns, transposes of gathers.

def MatmulOp : Heddle_Op<"matmul", [Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                                     DeclareOpInterfaceMethods<ProductOpInterface>,
                                     DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "Matmul, with either operand transposed on request";
  let arguments = (ins Heddle_ProductOperand:$lhs, Heddle_ProductOperand:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def PartialProductsOp : Heddle_Op<"partial_products", [Pure]> {
  let summary = "Matmuls of parts of the contracted dimension, side by side; their sum is the whole matmul";
  let description = [{
    Part g of the result's G parts contracts the g-th of G pieces of the contracted dimension. The op replaces a
    `matmul` that would keep too few of a device's processors busy. `sum_parts` adds up the parts.

    ```mlir
    %0 = heddle.partial_products %x, %g {transpose_lhs}
      : tensor<?x512xbf16, #tokens>, tensor<?x256xbf16, #tokens> -> tensor<512x4x256xf32>
    ```
  }];
  let arguments = (ins Heddle_ProductOperand:$lhs, Heddle_ProductOperand:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Heddle_F32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

// Several linear transformations of the same rows as one op, for example the queries, keys and values of attention
// (3.2.2). The n weights of KxN are stacked as (n*K)xN, and the biases likewise.
def ProjectOp : Heddle_Op<"project", [Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "x W_i + b_i for each i";
  let arguments = (ins Heddle_F32Matrix:$input, Heddle_F32Matrix:$weights, Heddle_F32Vector:$biases);
  let results = (outs Variadic<Heddle_F32Matrix>:$projections);
  let assemblyFormat = [{
    $input `,` $weights `,` $biases attr-dict `:` type($input) `,` type($weights) `,` type($biases) `->` type($projections)
  }];
  let hasVerifier = 1;
}

def ProjectGradInputOp : Heddle_Op<"project_grad_input", [Pure]> {
  let summary = "The sum over i of g_i W_i^T: the gradient of the input";
  let arguments = (ins Heddle_F32Matrix:$weights, Variadic<Heddle_F32Matrix>:$gradients);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $weights `,` $gradients attr-dict `:` type($weights) `,` type($gradients) `->` type($result)
  }];
  let hasVerifier = 1;
}

def ProjectGradWeightsOp : Heddle_Op<"project_grad_weights", [Pure]> {
  let summary = "The gradients of the weights, x^T g_i one below the other, and of the biases, the sums of each g_i's rows";
  let arguments = (ins Heddle_F32Matrix:$input, Variadic<Heddle_F32Matrix>:$gradients);
  let results = (outs Heddle_F32Matrix:$weights, Heddle_F32Vector:$biases);
  let assemblyFormat = [{
    $input `,` $gradients attr-dict `:` type($input) `,` type($gradients) `->` type($weights) `,` type($biases)
  }];
  let hasVerifier = 1;
}

def SumOp : Heddle_Op<"sum", [Pure, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                             DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "Sums over the rows (`rows`: a matrix becomes a row, a column a scalar) or over the columns of each row";
  let description = [{
    `sum rows`: tensor<MxN> -> tensor<N>, tensor<MxHxN> -> tensor<H*N>, tensor<?> -> tensor<1>.
    `sum columns`: tensor<MxN> -> tensor<M>, tensor<N> -> tensor<1>; of all columns, tensor<MxHxN> -> tensor<M>, or of each
    part, tensor<MxHxN> -> tensor<MxH>.
  }];
  let arguments = (ins Heddle_F32:$input, UnitAttr:$columns);
  let results = (outs Heddle_F32:$result);
  let assemblyFormat = "(`columns` $columns^):(`rows`)? $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1; // a sum over one column
}

def PartialSumsOp : Heddle_Op<"partial_sums", [Pure]> {
  let summary = "Partial sums of the rows, side by side; their sum is the sum of all rows";
  let description = [{
    Row g of the result's G rows sums the row blocks g, g + G, g + 2 G, ... of the input. The input is a matrix or a
    column, which counts as a matrix with one column. A block has 8 rows for each subgroup of a workgroup, or one in the
    kernel of a `layer_norm_grad`. The op replaces a `sum rows` that would keep too little of a device busy, or that
    would read again what another kernel has at hand. In the kernel of attention's gradient or of a matmul, each row of
    the result sums the rows of a workgroup or of a subgroup, and the number of rows may be a run-time size.

    ```mlir
    %0 = heddle.partial_sums %x : tensor<?x512xf32, #tokens> -> tensor<64x512xf32>
    ```
  }];
  let arguments = (ins Heddle_F32:$input);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = "static constexpr int64_t kBlockRows = 8;";
  let hasVerifier = 1;
}

def LayerNormOp : Heddle_Op<"layer_norm", [Pure, RowwiseOpInterface, AllTypesMatch<["input", "result"]>, AllTypesMatch<["mean", "rstd"]>,
                                           DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Layer normalisation of each row (3.1), with the mean and 1 / standard deviation for its backward pass";
  let arguments = (ins Heddle_F32Matrix:$input, Heddle_F32Vector:$gamma, Heddle_F32Vector:$beta, F32Attr:$epsilon);
  let results = (outs Heddle_F32Matrix:$result, Heddle_F32Vector:$mean, Heddle_F32Vector:$rstd);
  let assemblyFormat = [{
    $input `,` $gamma `,` $beta attr-dict `:` type($input) `,` type($gamma) `,` type($beta) `->` type($mean)
  }];
  let hasVerifier = 1;
}

def LayerNormApplyOp : Heddle_Op<"layer_norm_apply", [Pure, Heddle_Elementwise, AllTypesMatch<["input", "result"]>,
                                                      AllTypesMatch<["gamma", "beta"]>, AllTypesMatch<["mean", "rstd"]>]> {
  let summary = "Computes a layer norm's result again, from the input, the mean and 1 / standard deviation";
  let description = [{
    Kernels compute it where they need it, so that a result that only elementwise ops need is not in memory. It differs from the
    result of the `layer_norm` by roundings: a norm's kernel may subtract the mean before it is rounded.

    ```mlir
    %y, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-5 : f32} : !x, !row, !row -> !column
    %again = heddle.layer_norm_apply %x, %gamma, %beta, %mean, %rstd : !x, !row, !column
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$input, Heddle_F32Vector:$gamma, Heddle_F32Vector:$beta, Heddle_F32Vector:$mean,
                       Heddle_F32Vector:$rstd);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $input `,` $gamma `,` $beta `,` $mean `,` $rstd attr-dict `:` type($input) `,` type($gamma) `,` type($mean)
  }];
  let hasVerifier = 1;
}

def LayerNormGradOp : Heddle_Op<"layer_norm_grad", [Pure, AllTypesMatch<["gradient", "input", "result"]>,
                                                    AllTypesMatch<["mean", "rstd"]>]> {
  let summary = "The gradient of layer normalisation's input";
  let arguments = (ins Heddle_F32Matrix:$gradient, Heddle_F32Matrix:$input, Heddle_F32Vector:$gamma,
                       Heddle_F32Vector:$mean, Heddle_F32Vector:$rstd);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $gradient `,` $input `,` $gamma `,` $mean `,` $rstd attr-dict `:` type($input) `,` type($gamma) `,` type($mean)
  }];
  let hasVerifier = 1;
}

def CrossEntropyOp : Heddle_Op<"cross_entropy", [Pure, RowwiseOpInterface, AllTypesMatch<["loss", "log_sum_exp"]>,
                                                 DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Label-smoothed cross entropy of each row against its target (5.4)";
  let description = [{
    loss = logsumexp(x) - (1 - s) x[target] - s mean(x): the target distribution is (1 - s) on the target plus s spread
    evenly over all classes.
  }];
  let arguments = (ins Heddle_F32Matrix:$logits, Heddle_I32Vector:$targets, F32Attr:$smoothing);
  let results = (outs Heddle_F32Vector:$loss, Heddle_F32Vector:$log_sum_exp);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits) `,` type($targets) `->` type($loss)";
  let hasVerifier = 1;
}

def CrossEntropyGradOp : Heddle_Op<"cross_entropy_grad", [Pure, Heddle_Elementwise, AllTypesMatch<["logits", "result"]>,
                                                          AllTypesMatch<["log_sum_exp", "gradient"]>]> {
  let summary = "The gradient of cross entropy's logits: (softmax(x) - target distribution) * gradient";
  let arguments = (ins Heddle_F32Matrix:$logits, Heddle_I32Vector:$targets, Heddle_F32Vector:$log_sum_exp,
                       Heddle_F32Vector:$gradient, F32Attr:$smoothing);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $logits `,` $targets `,` $log_sum_exp `,` $gradient attr-dict `:` type($logits) `,` type($targets) `,`
    type($log_sum_exp)
  }];
  let hasVerifier = 1;
}

def ArgmaxOp : Heddle_Op<"argmax", [Pure, RowwiseOpInterface]> {
  let summary = "The column of each row's largest element, the first one if several are equal";
  let arguments = (ins Heddle_F32Matrix:$input);
  let results = (outs Heddle_I32Vector:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TopKOp : Heddle_Op<"top_k", [Pure, AttrSizedOperandSegments, AllTypesMatch<["rows", "columns"]>,
                                 DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "The k largest elements of each row or segment of rows, the largest first, with their rows and columns";
  let description = [{
    Segment s is the rows [starts[s], starts[s] + lengths[s]); without segments each row is one. k is the number of
    columns of the results. Equal elements
    are ordered by row, and then by column. If a segment has fewer than k elements that are numbers, the rest of its
    results is -FLT_MAX. `row_size` names the run-time size that holds the longest segment. If each segment holds the
    hypotheses of a sentence, the op is the selection of a beam search.

    ```mlir
    %best, %parents, %tokens = heddle.top_k %scores segments(%starts, %lengths) {row_size = "beam"}
        : tensor<?x37000xf32, #hypotheses>, tensor<?xi32, #sentences> -> tensor<?x8xf32, #sentences>, tensor<?x8xi32, #sentences>
    %largest, %same, %experts = heddle.top_k %scores : tensor<?x64xf32, #tokens> -> tensor<?x8xf32, #tokens>, tensor<?x8xi32, #tokens>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$input, Optional<Heddle_I32Vector>:$starts, Optional<Heddle_I32Vector>:$lengths,
                       DefaultValuedStrAttr<StrAttr, "">:$row_size);
  let results = (outs Heddle_F32Matrix:$values, Heddle_I32Matrix:$rows, Heddle_I32Matrix:$columns);
  let assemblyFormat = [{
    $input (`segments` `(` $starts^ `,` $lengths `)`)? attr-dict `:` type($input)
    (`,` type($starts)^ `` custom<SameType>(ref(type($starts)), type($lengths)))? `->` type($values) `,` type($rows)
  }];
  let hasVerifier = 1;
}

class Heddle_ScatterOp<string mnemonic, Type matrix, list<Trait> traits = []>
    : Heddle_Op<mnemonic, [Pure, AllTypesMatch<["destination", "result"]>] # traits> {
  let arguments = (ins matrix:$destination, Heddle_I32Vector:$indices, matrix:$rows);
  let results = (outs matrix:$result);
  let assemblyFormat = [{
    $destination `,` $indices `,` $rows attr-dict `:` type($destination) `,` type($indices) `,` type($rows)
  }];
  let hasVerifier = 1;
}
def ScatterAddOp : Heddle_ScatterOp<"scatter_add", Heddle_F32Matrix,
                                    [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Adds each row to the destination's row at its index; rows with the same index add up, in their order";
}
def ScatterRowsOp : Heddle_ScatterOp<"scatter_rows", Heddle_StoredMatrix, [Heddle_Elementwise]> {
  let summary = "Replaces the destination's row at each index; no two indices are equal";
  let description = [{
    The result lives in the destination's memory, and the kernel that computes the rows may write them there. If indices
    are equal after all, any elements of their rows may remain.
  }];
}

def FindFirstOp : Heddle_Op<"find_first", [Pure]> {
  let summary = "The position of the first occurrence of each number 0, 1, 2, ... among the indices, or -1";
  let description = [{
    The first of three ops that compute the gradient of an embedding's table without a table of zeros: `find_first`,
    `sum_equal` and `densify`. Between them the gradient has one row per token, however many rows the table has.

    ```mlir
    %first = heddle.find_first %ids : tensor<?xi32, #tokens> -> tensor<37000x1xi32>
    %sums = heddle.sum_equal %ids, %first, %rows
        : tensor<?xi32, #tokens>, tensor<37000x1xi32>, tensor<?x512xf32, #tokens>
    %gradient = heddle.densify %first, %sums : tensor<37000x1xi32>, tensor<?x512xf32, #tokens> -> tensor<37000x512xf32>
    ```
  }];
  let arguments = (ins Heddle_I32Vector:$indices);
  let results = (outs AnyTypeOf<[Heddle_I32Matrix, Heddle_I32Vector]>:$first);
  let assemblyFormat = "$indices attr-dict `:` type($indices) `->` type($first)";
  let hasVerifier = 1;
}

def SumEqualOp : Heddle_Op<"sum_equal", [Pure, AllTypesMatch<["rows", "result"]>]> {
  let summary = "The sums of the rows with equal indices, in their order, each in the first one's row; zeros elsewhere";
  let arguments = (ins Heddle_I32Vector:$indices, Heddle_I32Matrix:$first, Heddle_F32Matrix:$rows);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$indices `,` $first `,` $rows attr-dict `:` type($indices) `,` type($first) `,` type($rows)";
  let hasVerifier = 1;
}
