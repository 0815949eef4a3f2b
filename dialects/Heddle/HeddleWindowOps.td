// Windows over the rows of a sequence, which make convolutions matmuls, and strides over the pixels of images.

// Row i + o belongs to the sequence of row i if its position is larger by o: positions count within sequences, and no
// two sequences share a row. So one number per row tells where sequences end, in both directions. Rows beyond an end
// are zero.
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
  let summary = "Beside each row its neighbours in the sequence, from `first` to `last` rows further on";
  let description = [{
    The columns of row i are those of row i + first, of row i + first + 1, and so on, with zeros for rows beyond an end
    of the sequence. With a single offset the op shifts the rows of the sequence. `positions` are the indices of the
    rows in their sequences.

    ```mlir
    %windows = heddle.unfold %x at %positions from -1 to 1
        : tensor<?x8xf32, #tokens>, tensor<?xi32, #tokens> -> tensor<?x24xf32, #tokens>
    ```
  }];
}

def FoldOp : Heddle_WindowOp<"fold"> {
  let summary = "The sum of all entries of a row in windows: the gradient of `heddle.unfold`, which is the gradient of this op";
  let description = [{
    Row i is the sum over the offsets o of column block o - first of row i - o, if the sequence has that row. Each row
    reads its terms: nothing is added in memory.
  }];
}

// Images are rows of pixels, row after row of an image and image after image without gaps, so that a batch is one tall
// image.
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
  let summary = "The pixels at every `stride`-th row and column of images with `width` columns, from (`row`, `column`) on";
  let description = [{
    The stride divides the width, and the height of every image. For other images the op returns meaningless rows of the
    input, but never reads other memory.

    ```mlir
    %quarter = heddle.subsample %x width 12 stride 2 at (0, 1)
        : tensor<?x8xf32, #heddle.dims<"pixels">> -> tensor<?x8xf32, #heddle.dims<"pixels_6x6">>
    ```
  }];
}

def UpsampleOp : Heddle_StrideOp<"upsample"> {
  let summary = "Images of `width` columns with the input at the pixels of `heddle.subsample` and zeros elsewhere: its gradient";
}
