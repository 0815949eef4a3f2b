// Elementwise ops that `arith` and `math` do not have.

def FillOp : Heddle_Op<"fill", [Pure, Heddle_Elementwise]> {
  let summary = "A tensor of any shape, static or dynamic, whose elements are all one value";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Heddle_Tensor:$result);
  let description = [{
    An infinity is written by its bits, 0x7F800000 : f32. A decimal number outside the range of its type is an error.
  }];
  let assemblyFormat = "custom<FillValue>($value) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def IotaOp : Heddle_Op<"iota", [Pure, Heddle_Elementwise,
                                DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "Each element's index along a dimension: 0, 1, 2, ...";
  let description = [{
    A column holds its row indices, and a row its column indices. Scores (tensor<T x H x K>) hold their heads (`dim` 1)
    or keys (`dim` 2).
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$dim);
  let results = (outs AnyTypeOf<[Heddle_I32Vector, 3DTensorOf<[I32]>]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def BroadcastOp : Heddle_Op<"broadcast", [Pure, Heddle_Elementwise, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Repeats a scalar (tensor<1>), a row (static extent) or a column (dynamic extent) over a shape";
  let description = [{
    A row that is repeated over a tensor<MxHxN> has N elements. A tensor<MxH> has one number for each of its M x H
    parts.
  }];
  let arguments = (ins Heddle_Tensor:$input);
  let results = (outs Heddle_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def StopGradientOp : Heddle_Op<"stop_gradient", [Pure, SameOperandsAndResultType, Heddle_Elementwise,
                                                 DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Its operand, which counts as a constant in the gradient of the loss";
  let description = [{ `heddle-differentiate` replaces the op by its operand, so that no kernel knows it. }];
  let arguments = (ins Heddle_F32:$input);
  let results = (outs Heddle_F32:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def EmbeddingOp : Heddle_Op<"embedding", [Pure, Heddle_Elementwise, DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                                         DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "The table's rows at the given indices (3.4), or the elements of a table that is a vector";
  let arguments = (ins Heddle_I32Vector:$indices, Heddle_Table:$table);
  let results = (outs Heddle_Table:$result);
  let assemblyFormat = "$indices `,` $table attr-dict `:` type($indices) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def DequantizeOp : Heddle_Op<"dequantize", [Pure, AttrSizedOperandSegments, Heddle_Elementwise]> {
  let summary = "Unpacks a matrix of packed integers: each number times the scale of its group, plus the group's offset";
  let description = [{
    A word holds 32 / `bits` numbers from neighbouring rows of a column, the first in its lowest bits. `high` holds the
    upper bits of the numbers in words of its own, packed the same way with `high_bits` bits per number. Numbers are
    signed (two's complement of all their bits), or unsigned with `is_unsigned`. With `table`, a row of 16 values, each
    unsigned 4-bit number selects one of the values.

    A scale belongs to a group of rows and columns: the rows of the matrix divided by the rows of the scales, and the
    same for columns. Without scales, the numbers are the elements. Offsets have the scales' shape. Scales and offsets
    may also be packed, or 16-bit: then another `dequantize` or an `arith.extf` produces them. Kernels unpack words
    where they read them, so that neither the matrix nor such scales are ever in memory.

    The matrix may be stored in panels of columns, one after another, each contiguous: if `words` has P columns, fewer
    than the matrix, its rows are those of the first P columns, then those of the next P. `high` has the same panels, and
    so do scales and offsets with P columns.

    ```mlir
    // Groups of 32 rows.
    %0 = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<72x1536xi32>, tensor<18x1536xf32>) -> tensor<576x1536xf32>
    // 6-bit numbers, an 8-bit scale for every 16 rows, and a factor of these scales for every 256 rows.
    %1 = heddle.dequantize %packed scales(%factors) {bits = 8} : (tensor<24x576xi32>, tensor<6x576xf32>) -> tensor<96x576xf32>
    %2 = heddle.dequantize %low high(%high) scales(%1) {bits = 4, high_bits = 2}
        : (tensor<192x576xi32>, tensor<96x576xi32>, tensor<96x576xf32>) -> tensor<1536x576xf32>
    // One of 16 values for each number.
    %3 = heddle.dequantize %words table(%values) scales(%scales) {bits = 4, is_unsigned}
        : (tensor<72x1536xi32>, tensor<1x16xf32>, tensor<18x1536xf32>) -> tensor<576x1536xf32>
    // 24 panels of 64 columns.
    %4 = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<1728x64xi32>, tensor<432x64xf32>) -> tensor<576x1536xf32>
    ```
  }];
  let arguments = (ins Heddle_I32Matrix:$words, Optional<Heddle_I32Matrix>:$high, Optional<Heddle_F32Matrix>:$table,
                       Optional<Heddle_F32Matrix>:$scales, Optional<Heddle_F32Matrix>:$offsets, I64Attr:$bits,
                       DefaultValuedAttr<I64Attr, "0">:$high_bits, UnitAttr:$is_unsigned);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = [{
    $words (`high` `(` $high^ `)`)? (`table` `(` $table^ `)`)? (`scales` `(` $scales^ `)`)?
    (`offsets` `(` $offsets^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "Type":$result, "Value":$words, "Value":$scales, "int64_t":$bits), [{
    build($_builder, $_state, result, words, Value(), Value(), scales, Value(), bits);
  }]>];
  let extraClassDeclaration = [{
    /// The numbers of rows and of columns that share a scale; both are 1 without scales.
    std::pair<int64_t, int64_t> getGroup();
    /// The columns of a panel: all columns if there are no panels.
    int64_t getPanel();
  }];
  let hasVerifier = 1;
}

def JoinPanelsOp : Heddle_Op<"join_panels", [Pure, Heddle_Elementwise]> {
  let summary = "The matrix whose panels of columns stand one below the other";
  let description = [{
    Rows of P columns each: those of the matrix's first P columns, then those of the next P, and so on. A weight is stored
    so where workgroups read a panel each, which is contiguous. Kernels read the elements of panels where they need them.

    ```mlir
    // Nine panels of 64 columns.
    %0 = heddle.join_panels %panels : tensor<13824x64xbf16> -> tensor<1536x576xbf16>
    ```
  }];
  let arguments = (ins Heddle_ProductOperand:$panels);
  let results = (outs Heddle_ProductOperand:$result);
  let assemblyFormat = "$panels attr-dict `:` type($panels) `->` type($result)";
  let hasVerifier = 1;
}

def SumPartsOp : Heddle_Op<"sum_parts", [Pure, Heddle_Elementwise]> {
  let summary = "The sum of the parts of each row, in their order: tensor<MxGxN> becomes tensor<MxN>";
  let arguments = (ins Heddle_F32:$parts);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($result)";
  let hasVerifier = 1;
}

def DensifyOp : Heddle_Op<"densify", [Pure, Heddle_Elementwise]> {
  let summary = "The matrix whose row r is row `places[r]` of a compact one, or zeros if `places[r]` is negative";
  let arguments = (ins Heddle_I32Matrix:$places, Heddle_F32Matrix:$rows);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$places `,` $rows attr-dict `:` type($places) `,` type($rows) `->` type($result)";
  let hasVerifier = 1;
}

def SinusoidOp : Heddle_Op<"sinusoid", [Pure, Heddle_Elementwise]> {
  let summary = "Sinusoidal position encodings (3.5)";
  let description = [{
    Column 2i is sin(pos / 10000^(2i/d)), and column 2i+1 is the cosine of the same angle. With `halves` all sines come
    first.
  }];
  let arguments = (ins Heddle_I32Vector:$positions, UnitAttr:$halves);
  let results = (outs Heddle_F32Matrix:$result);
  let assemblyFormat = "$positions attr-dict `:` type($positions) `->` type($result)";
  let hasVerifier = 1;
}

def NumbersOp : Heddle_Op<"numbers", [Pure, Heddle_Elementwise]> {
  let summary = "A row of constants that are known at compile time";
  let description = [{
    ```mlir
    %frequencies = heddle.numbers [1.000000e+00, 1.000000e-02] : tensor<2xf32>
    ```
  }];
  let arguments = (ins DenseF32ArrayAttr:$values);
  let results = (outs Heddle_F32Vector:$result);
  let assemblyFormat = "$values attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def RotaryOp : Heddle_Op<"rotary", [Pure, RowwiseOpInterface, AllTypesMatch<["input", "result"]>,
                                    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Rotates pairs of columns by angles that grow with the row's position (Su et al. 2021, RoFormer, 3.2.2)";
  let description = [{
    Heads lie side by side, and have two columns per frequency. Column i of a head and the column half a head further
    are a pair (a, b), which becomes (a cos t - b sin t, b cos t + a sin t), where t is the position times frequency i.
    With `inverse` the angle is -t: each of the two is the gradient of the other.

    With `neighbours` there is a frequency for each column, and the pairs are columns 2i and 2i + 1 of a head, which
    have the same frequency.

    If `head_width` is above 0, heads have that many columns. Columns behind the pairs stay as they are.

    ```mlir
    %turned = heddle.rotary %queries at %positions by %frequencies
        : tensor<?x64xf32, #heddle.dims<"tokens">>, tensor<?xi32, #heddle.dims<"tokens">>, tensor<16xf32>
    ```
  }];
  let arguments = (ins Heddle_F32Matrix:$input, Heddle_I32Vector:$positions, Heddle_F32Vector:$frequencies,
                       UnitAttr:$inverse, UnitAttr:$neighbours, DefaultValuedOptionalAttr<I64Attr, "0">:$head_width);
  let results = (outs Heddle_F32Matrix:$result);
  let extraClassDeclaration = [{
    /// The number of columns of a head that are rotated, which are its first ones, and the number of all its columns.
    int64_t getTurnedColumns();
    int64_t getHeadColumns();
  }];
  let assemblyFormat = [{
    $input `at` $positions `by` $frequencies attr-dict `:` type($input) `,` type($positions) `,` type($frequencies)
  }];
  let hasVerifier = 1;
}

def DropoutOp : Heddle_Op<"dropout", [Pure, Heddle_Elementwise, AllTypesMatch<["input", "result"]>,
                                      DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Zeroes each element with probability `rate` and scales the others by 1 / (1 - rate) (5.4)";
  let description = [{
    The mask is Philox4x32-10 at counter (column / 4, row, stream, step) under key `seed`, word column % 4. It is a
    function of the index only, so that the backward pass draws the same mask again instead of storing it. In a tensor<T
    x H x K> the last dimension is the column, and head h has a stream of its own, (stream + 1) * 2^16 + h.
  }];
  let arguments = (ins Heddle_F32:$input, Heddle_Seed:$seed, Heddle_Step:$step, F32Attr:$rate,
                       I32Attr:$stream);
  let results = (outs Heddle_F32:$result);
  let assemblyFormat = "$input `seed` $seed `step` $step attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def RandomOp : Heddle_Op<"random", [Pure, Heddle_Elementwise,
                                    DeclareOpInterfaceMethods<RowwiseOpInterface, ["isRowwise"]>]> {
  let summary = "Random numbers: uniform in [-scale, scale), or normal with standard deviation `scale`";
  let description = [{ Philox as in `heddle.dropout`, at step 0. }];
  let arguments = (ins Heddle_Seed:$seed, Heddle_DistributionAttr:$distribution, F32Attr:$scale, I32Attr:$stream);
  let results = (outs Heddle_F32:$result);
  let assemblyFormat = "$distribution $seed attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def AdamOp : Heddle_Op<"adam", [Pure, Heddle_Elementwise, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<StepOpInterface>,
    AllTypesMatch<["weight", "gradient", "new_weight"]>,
    AllTypesMatch<["first_moment", "second_moment", "new_first_moment", "new_second_moment"]>]> {
  let summary = "Adam's update (5.3)";
  let description = [{
    m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g^2;
    w' = w - rate * (m' / (1 - beta1^step)) / (sqrt(v' / (1 - beta2^step)) + epsilon).
    The corrections 1 / (1 - beta1^step) and 1 / (1 - beta2^step) are operands, and g is the gradient times `scale`.
    The average, if there is one, becomes a' = decay a + (1 - decay) w'. With `skips`, a `scale` of 0 skips the
    step: nothing changes, whatever the gradient is. With `sharded`, moments and average are sharded variables, and
    a rank computes the rows that it keeps of them.

    Moments may be bf16. All arithmetic is f32 even then, and w' is computed from the moments before they are rounded.
    The moments are rounded stochastically: up with the probability of the part that is cut off, so that they are right
    on average. Rounded to nearest, a second moment would never shrink, because `beta2` removes less than half of its
    last bit. The random number of an element is a hash of its weight's bits before the update and of the step's number:
    mix(bits(w) ^ mix(step * 0x9E3779B9)), where mix is the finalizer of MurmurHash3. It does not depend on the
    element's index, so that ranks with a part of a tensor draw the same numbers as a rank with all of it. The hash's
    lower 16 bits are added to the bits of v', its upper 16 bits to those of m', and then the lower 16 bits of each sum
    are cut off.

    ```mlir
    %w2, %m2, %v2 = heddle.adam %w, %g, %m, %v rate %rate corrections %c1, %c2 scale %scale
        {beta1 = 0.9 : f32, beta2 = 0.999 : f32, epsilon = 1.0e-8 : f32} : tensor<8x64xf32>
    %w3, %m3, %v3 = heddle.adam %w, %g, %m16, %v16 rate %rate corrections %c1, %c2 scale %scale
        rounding %step {beta1 = 0.9 : f32, beta2 = 0.999 : f32, epsilon = 1.0e-8 : f32} : tensor<8x64xf32>, tensor<8x64xbf16>
    ```
  }];
  let arguments = (ins Heddle_F32:$weight, Heddle_F32:$gradient, Heddle_Moment:$first_moment, Heddle_Moment:$second_moment,
                       Heddle_Scalar:$rate, Heddle_Scalar:$first_correction, Heddle_Scalar:$second_correction,
                       Heddle_Scalar:$gradient_scale, Optional<Heddle_F32>:$average, Optional<Heddle_Step>:$step,
                       F32Attr:$beta1, F32Attr:$beta2, F32Attr:$epsilon, OptionalAttr<F32Attr>:$decay, UnitAttr:$skips,
                       UnitAttr:$sharded);
  let results = (outs Heddle_F32:$new_weight, Heddle_Moment:$new_first_moment, Heddle_Moment:$new_second_moment,
                      Optional<Heddle_F32>:$new_average);
  let assemblyFormat = [{
    $weight `,` $gradient `,` $first_moment `,` $second_moment `rate` $rate `corrections` $first_correction `,`
    $second_correction `scale` $gradient_scale (`average` $average^ `:` type($average) `->` type($new_average))?
    (`rounding` $step^)? attr-dict `:` custom<AdamTypes>(type($weight), type($first_moment))
  }];
  let hasVerifier = 1;
}
