// Mixtures of experts: each token goes to a few experts, and each expert multiplies the rows of its tokens.

def PickOp : Heddle_Op<"pick", [Pure, Heddle_Elementwise, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The elements of each row in the given columns";
  let description = [{
    ```mlir
    %weights = heddle.pick %scores, %chosen : tensor<?x64xf32, #tokens>, tensor<?x8xi32, #tokens> -> tensor<?x8xf32, #tokens>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$rows, Heddle_I32Matrix:$columns);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$rows `,` $columns attr-dict `:` type($rows) `,` type($columns) `->` type($result)";
  let hasVerifier = 1;
}

def PlaceOp : Heddle_Op<"place", [Pure, Heddle_Elementwise, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Rows of zeros with the values in the given columns; values of the same column add up";
  let description = [{
    ```mlir
    %scores = heddle.place %weights, %chosen : tensor<?x8xf32, #tokens>, tensor<?x8xi32, #tokens> -> tensor<?x64xf32, #tokens>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$values, Heddle_I32Matrix:$columns);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$values `,` $columns attr-dict `:` type($values) `,` type($columns) `->` type($result)";
  let hasVerifier = 1;
}

def CountChoicesOp : Heddle_Op<"count_choices", [Pure, RowwiseOpInterface]> {
  let summary = "How often each number occurs in each of several blocks of rows";
  let description = [{
    With G rows in the result, row g counts the g-th of G blocks of rows: the first ceil(rows / G), the next ones, and
    so on. `dispatch` needs these counts, so that its blocks can work side by side.

    ```mlir
    %counts = heddle.count_choices %chosen : tensor<?x8xi32, #tokens> -> tensor<16x64xi32>
    ```
  }];
  let arguments = (ins Heddle_I32Matrix:$chosen);
  let results = (outs Heddle_I32Matrix:$counts);
  let assemblyFormat = "$chosen attr-dict `:` type($chosen) `->` type($counts)";
  let hasVerifier = 1;
}

def DispatchOp : Heddle_Op<"dispatch", [Pure, RowwiseOpInterface, AllTypesMatch<["chosen", "places"]>]> {
  let summary = "Sorts the choices of all tokens by expert";
  let description = [{
    Row t of `chosen` has the k experts of token t, and choice number t k + j is the j-th of them. `order` has the
    numbers of all choices, sorted by expert; choices of the same expert stay in their order. `places` says where in that
    order each choice stands, `experts` which expert each place of the order belongs to, and `starts` where the choices of
    each expert begin; its last element is the number of choices. `counts` is the result of `count_choices`.

    ```mlir
    %places, %order, %experts, %starts = heddle.dispatch %chosen, %counts
        : tensor<?x8xi32, #tokens>, tensor<16x64xi32> -> tensor<?x1xi32, #choices>, tensor<?xi32, #choices>, tensor<65xi32>
    ```
  }];
  let arguments = (ins Heddle_I32Matrix:$chosen, Heddle_I32Matrix:$counts);
  let results = (outs Heddle_I32Matrix:$places, Heddle_I32Matrix:$order, Heddle_I32Vector:$experts,
                      Heddle_I32Vector:$starts);
  let assemblyFormat = [{
    $chosen `,` $counts attr-dict `:` type($chosen) `,` type($counts) `->` type($order)
    `,` type($experts) `,` type($starts)
  }];
  let hasVerifier = 1;
}

def GatherOp : Heddle_Op<"gather", [Pure, Heddle_Elementwise, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Sums of rows at the given indices, whose gradient is a gather too";
  let description = [{
    Row r of the result is the sum of the rows at `indices`[r, 0], `indices`[r, 1], .... For each row
    of the operand, `inverse` lists the rows of the result whose sums contain it. So the gradient is a gather too: it adds
    nothing in memory, and has the same bits in each run.

    ```mlir
    %rows = heddle.gather %x at %tokens inverse %places
        : tensor<?x512xf32, #tokens>, tensor<?x1xi32, #choices>, tensor<?x8xi32, #tokens> -> tensor<?x512xf32, #choices>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$rows, Heddle_I32Matrix:$indices, Heddle_I32Matrix:$inverse);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $rows `at` $indices `inverse` $inverse attr-dict `:` type($rows) `,` type($indices) `,` type($inverse) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

def GroupedMatmulOp : Heddle_Op<"grouped_matmul", [Pure, RowwiseOpInterface,
                                                   DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                                                   DeclareOpInterfaceMethods<ProductOpInterface>]> {
  let summary = "A matmul for each group of rows, with a matrix of the group's own";
  let description = [{
    Group g is the rows from `starts`[g] to `starts`[g + 1]; groups may be empty. The matrices of the groups stand one
    below the other: in the right operand, each as it is or transposed, or in the result if the left operand is
    transposed. The second form is the gradient of the matrices; it contracts the rows of each group.

    ```mlir
    %y = heddle.grouped_matmul %x, %w groups(%starts)
        : tensor<?x512xf32, #choices>, tensor<4096x1024xf32>, tensor<9xi32> -> tensor<?x1024xf32, #choices>
    %dx = heddle.grouped_matmul %dy, %w groups(%starts) {transpose_rhs}
        : tensor<?x1024xf32, #choices>, tensor<4096x1024xf32>, tensor<9xi32> -> tensor<?x512xf32, #choices>
    %dw = heddle.grouped_matmul %x, %dy groups(%starts) {transpose_lhs}
        : tensor<?x512xf32, #choices>, tensor<?x1024xf32, #choices>, tensor<9xi32> -> tensor<4096x1024xf32>
    ```
  }];
  let arguments = (ins Heddle_ProductOperand:$lhs, Heddle_ProductOperand:$rhs, Heddle_I32Vector:$starts,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `groups` `(` $starts `)` attr-dict `:` type($lhs) `,` type($rhs) `,` type($starts) `->` type($result)
  }];
  let extraClassDeclaration = [{
    int64_t getGroups() { return ::llvm::cast<::mlir::RankedTensorType>(getStarts().getType()).getDimSize(0) - 1; }
  }];
  let hasVerifier = 1;
}
