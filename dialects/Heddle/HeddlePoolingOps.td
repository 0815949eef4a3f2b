// Ops that reduce several rows to one.

def Heddle_Pool : I32EnumAttr<"Pool", "what becomes of the elements of a column", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">]> {
  let cppNamespace = "::mlir::heddle";
  let genSpecializedAttr = 0;
}
def Heddle_PoolAttr : EnumAttr<Heddle_Dialect, Heddle_Pool, "pool">;

def SegmentOp : Heddle_Op<"segment", [Pure, AllTypesMatch<["starts", "lengths"]>,
                                      DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The sum, or the largest or smallest element, of each column of each segment of rows";
  let description = [{
    Segment s is the rows [starts[s], starts[s] + lengths[s]). `row_size` names the run-time size that holds the longest
    segment, or is empty if no segment has more than one row. A segment without rows becomes zeros.

    `chosen` is the row of the input that holds the largest or smallest element: the first row if several are equal, or
    -1 if the segment has no rows. NaN counts as larger and as smaller than all numbers. The gradient goes only to the
    chosen row. It requires that each row is in one segment.

    ```mlir
    %sums = heddle.segment sum %x segments(%starts, %lengths) {row_size = "length"}
        : tensor<?x64xf32, #tokens>, tensor<?xi32, #sequences> -> tensor<?x64xf32, #sequences>
    %largest, %chosen = heddle.segment max %x segments(%starts, %lengths) {row_size = "length"}
        : tensor<?x64xf32, #tokens>, tensor<?xi32, #sequences> -> tensor<?x64xf32, #sequences>, tensor<?x64xi32, #sequences>
    ```
  }];
  let arguments = (ins Heddle_PoolAttr:$pool, Heddle_F32Matrix:$input, Heddle_I32Vector:$starts, Heddle_I32Vector:$lengths,
                       StrAttr:$row_size);
  let results = (outs Heddle_F32Matrix:$result, Optional<Heddle_I32Matrix>:$chosen);
  let assemblyFormat = [{
    $pool $input `segments` `(` $starts `,` $lengths `)` attr-dict `:` type($input) `,` type($starts) `->` type($result)
    (`,` type($chosen)^)?
  }];
  let hasVerifier = 1;
}
