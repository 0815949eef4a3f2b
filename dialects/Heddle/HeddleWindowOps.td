// Windows over the rows of a sequence, of which convolutions are products.

// Row i + o belongs to the sequence of row i where its position is o more: positions count within sequences, and no two
// sequences share a row. So one number a row says where sequences end, in both directions, and rows beyond an end are zero.
class Heddle_WindowOp<string mnemonic> : Heddle_Op<mnemonic, [Pure, Heddle_Elementwise,
                                                           DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let arguments = (ins Heddle_F32Matrix:$input, Heddle_I32Vector:$positions, I64Attr:$first, I64Attr:$last);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $input `at` $positions `from` $first `to` $last attr-dict `:` type($input) `,` type($positions) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def UnfoldOp : Heddle_WindowOp<"unfold"> {
  let summary = "Beside each row its neighbours in the sequence: those from `first` to `last` rows further on";
  let description = [{
    The columns of row i are those of row i + first, of row i + first + 1, and so on; zeros stand for rows beyond an end of the
    sequence. Of one offset it is the rows of the sequence moved. `positions` are the rows' places in their sequences.

    ```mlir
    %windows = heddle.unfold %x at %positions from -1 to 1
        : tensor<?x8xf32, #tokens>, tensor<?xi32, #tokens> -> tensor<?x24xf32, #tokens>
    ```
  }];
}

def FoldOp : Heddle_WindowOp<"fold"> {
  let summary = "The sum of what all windows have of a row: the gradient of `heddle.unfold`, and that is its own";
  let description = [{
    Row i is the sum over o of columns block o - first of row i - o, if the sequence has that. Each row looks for what it gets:
    nothing is added in memory.
  }];
}

// Images are rows of pixels, row after row of an image and image after image without gaps, so that all of a batch are one tall image.
class Heddle_StrideOp<string mnemonic> : Heddle_Op<mnemonic, [Pure, Heddle_Elementwise,
                                                           DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let arguments = (ins Heddle_F32Matrix:$input, I64Attr:$width, I64Attr:$stride, I64Attr:$row, I64Attr:$column);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $input `width` $width `stride` $stride `at` `(` $row `,` $column `)` attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def SubsampleOp : Heddle_StrideOp<"subsample"> {
  let summary = "Of images of `width` columns of pixels those at every `stride`-th row and column, from (`row`, `column`) on";
  let description = [{
    The stride divides the width, and the height of every image. A call with other images gets rows of the input that make no sense, but
    never other memory.

    ```mlir
    %quarter = heddle.subsample %x width 12 stride 2 at (0, 1)
        : tensor<?x8xf32, #heddle.dims<"pixels">> -> tensor<?x8xf32, #heddle.dims<"pixels_6x6">>
    ```
  }];
}

def UpsampleOp : Heddle_StrideOp<"upsample"> {
  let summary = "Images of `width` columns of which `heddle.subsample` would take the input, with zeros elsewhere: its gradient";
}
