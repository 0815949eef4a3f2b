// Ops that make one row of several.

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
    segment, or is empty where none has more than one row. A segment without rows has zeros.

    Of the largest or smallest element `chosen` says in which row of the input it is: the first of equals, and -1 where
    the segment has no rows. NaN is larger and smaller than all numbers. The gradient, which goes to that row alone,
    supposes that each row is in one segment.

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
