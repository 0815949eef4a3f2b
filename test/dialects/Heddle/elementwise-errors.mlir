// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @fill() {
  // expected-error @+1 {{expects a value of type 'f32', got 1 : i32}}
  %0 = heddle.fill 1 : i32 : tensor<8xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<1xi32>) {
  // expected-error @+1 {{expects the same element type in 'tensor<1xi32>' and 'tensor<8xf32>'}}
  %0 = heddle.broadcast %x : tensor<1xi32> to tensor<8xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<1x8xf32>) {
  // expected-error @+1 {{expects a scalar, a row, a column or a number for each part of a row, got 'tensor<1x8xf32>'}}
  %0 = heddle.broadcast %x : tensor<1x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot repeat 'tensor<4xf32>' over 'tensor<?x8xf32, #heddle.dims<"tokens">>'}}
  %0 = heddle.broadcast %x : tensor<4xf32> to tensor<?x8xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @broadcast(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{cannot repeat 'tensor<4x3xf32>' over 'tensor<4x2x3xf32>'}}
  %0 = heddle.broadcast %x : tensor<4x3xf32> to tensor<4x2x3xf32>
  return
}

// -----

// A column with another run-time size does not fit, though both extents are dynamic.
func.func @broadcast(%x: tensor<?xf32, #heddle.dims<"sequences">>) {
  // expected-error @+1 {{cannot repeat}}
  %0 = heddle.broadcast %x : tensor<?xf32, #heddle.dims<"sequences">> to tensor<?x8xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @embedding(%i: tensor<4xi32>, %table: tensor<32x8xf32>) {
  // expected-error @+1 {{expects the same width in 'tensor<32x8xf32>' (dimension 1) and 'tensor<4x16xf32>' (dimension 1)}}
  %0 = heddle.embedding %i, %table : tensor<4xi32>, tensor<32x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @embedding(%i: tensor<4xi32>, %table: tensor<32x8xf32>) {
  // expected-error @+1 {{expects the same number of rows in 'tensor<4xi32>' (dimension 0) and 'tensor<5x8xf32>' (dimension 0)}}
  %0 = heddle.embedding %i, %table : tensor<4xi32>, tensor<32x8xf32> -> tensor<5x8xf32>
  return
}

// -----

func.func @sinusoid(%i: tensor<4xi32>) {
  // expected-error @+1 {{expects a static number of columns, got 'tensor<4x?xf32, #heddle.dims<"tokens">>'}}
  %0 = heddle.sinusoid %i : tensor<4xi32> -> tensor<4x?xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @sinusoid(%i: tensor<4xi32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.sinusoid %i : tensor<4xi32> -> tensor<5x8xf32>
  return
}

// -----

func.func @dropout(%x: tensor<8xf32>, %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // expected-error @+1 {{expects 'rate' in [0, 1), got 1}}
  %0 = heddle.dropout %x seed %seed step %step {rate = 1.0 : f32, stream = 0 : i32} : tensor<8xf32>
  return
}

// -----

func.func @random(%seed: tensor<2xi32>) {
  // expected-error @+1 {{expects a static shape, got 'tensor<?xf32>'}}
  %0 = heddle.random uniform %seed {scale = 1.0 : f32, stream = 0 : i32} : tensor<?xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects 'beta1' in [0, 1)}}
  %0:3 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s
    {beta1 = -0.5 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects 'beta2' in [0, 1)}}
  %0:3 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s
    {beta1 = 0.9 : f32, beta2 = 1.0 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects an average, its 'decay' and its new value together or not at all}}
  %0:3 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 0.9 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %a: tensor<4xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects an average of the weight's type 'tensor<8xf32>'}}
  %0:4 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s average %a : tensor<4xf32> -> tensor<4xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 0.9 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects 'decay' in [0, 1)}}
  %0:4 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s average %w : tensor<8xf32> -> tensor<8xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 1.0 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects 'epsilon' above 0}}
  %0:3 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 0.0 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %m: tensor<8xbf16>, %s: tensor<1xf32>) {
  // expected-error @+1 {{rounds moments of bf16, and no others, at random by the number of the step: add `rounding %step`}}
  %0:3 = heddle.adam %w, %w, %m, %m rate %s corrections %s, %s scale %s
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>, tensor<8xbf16>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>, %step: tensor<1xi32>) {
  // expected-error @+1 {{rounds moments of bf16, and no others, at random by the number of the step: leave out `rounding`}}
  %0:3 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  return
}

// -----

func.func @adam(%w: tensor<8xf32>, %m: tensor<4xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expects moments of the weight's shape, got 'tensor<4xf32>' for 'tensor<8xf32>'}}
  %0:3 = heddle.adam %w, %w, %m, %m rate %s corrections %s, %s scale %s
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>, tensor<4xf32>
  return
}

// -----

func.func @numbers() {
  // expected-error @+1 {{expects 1 to 4096 numbers and a row of as many, got 2 and 'tensor<3xf32>'}}
  %0 = heddle.numbers [1.0, 2.0] : tensor<3xf32>
  return
}

// -----

func.func @sinusoid(%positions: tensor<?xi32, #heddle.dims<"tokens">>) {
  // expected-error @+1 {{expects an even number of columns where sines and cosines are halves, got 'tensor<?x7xf32}}
  %0 = heddle.sinusoid %positions {halves} : tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?x7xf32, #heddle.dims<"tokens">>
  return
}

// -----

func.func @embedding(%i: tensor<4xi32>, %table: tensor<32x8xf32>) {
  // expected-error @+1 {{expects the same element type in 'tensor<32x8xf32>' and 'tensor<4x8xi32>'}}
  %0 = heddle.embedding %i, %table : tensor<4xi32>, tensor<32x8xf32> -> tensor<4x8xi32>
  return
}

// -----

func.func @densify(%places: tensor<32x2xi32>, %r: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a single column of row numbers, got 'tensor<32x2xi32>'}}
  %0 = heddle.densify %places, %r : tensor<32x2xi32>, tensor<4x8xf32> -> tensor<32x8xf32>
  return
}

// -----

func.func @densify(%places: tensor<32x1xi32>, %r: tensor<4x4xf32>) {
  // expected-error @+1 {{expects the same width}}
  %0 = heddle.densify %places, %r : tensor<32x1xi32>, tensor<4x4xf32> -> tensor<32x8xf32>
  return
}

// -----

func.func @densify(%places: tensor<31x1xi32>, %r: tensor<4x8xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.densify %places, %r : tensor<31x1xi32>, tensor<4x8xf32> -> tensor<32x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>) {
  // expected-error @+1 {{unpacks numbers of 2, 4 or 8 bits, got 3}}
  %0 = heddle.dequantize %words {bits = 3} : (tensor<2x8xi32>) -> tensor<20x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>) {
  // expected-error @+1 {{has one or two upper bits of numbers of 2 or 4 bits in words of their own, got 1 without such words}}
  %0 = heddle.dequantize %words {bits = 4, high_bits = 1} : (tensor<2x8xi32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<4x8xi32>, %high: tensor<1x8xi32>) {
  // expected-error @+1 {{has one or two upper bits of numbers of 2 or 4 bits in words of their own, got 1 with such words}}
  %0 = heddle.dequantize %words high(%high) {bits = 8, high_bits = 1} : (tensor<4x8xi32>, tensor<1x8xi32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>, %high: tensor<2x8xi32>) {
  // expected-error @+1 {{expects a word for 32 rows of a column, got 'tensor<2x8xi32>' and 'tensor<16x8xf32>'}}
  %0 = heddle.dequantize %words high(%high) {bits = 4, high_bits = 1} : (tensor<2x8xi32>, tensor<2x8xi32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>, %scales: tensor<1x8xf32>, %offsets: tensor<2x8xf32>) {
  // expected-error @+1 {{expects an offset for each scale, got 'tensor<2x8xf32>'}}
  %0 = heddle.dequantize %words scales(%scales) offsets(%offsets) {bits = 4}
      : (tensor<2x8xi32>, tensor<1x8xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>) {
  // expected-error @+1 {{expects a word for 4 rows of a column, got 'tensor<2x8xi32>' and 'tensor<9x8xf32>'}}
  %0 = heddle.dequantize %words {bits = 8} : (tensor<2x8xi32>) -> tensor<9x8xf32>
  return
}

// -----

// Panels of 8 columns do not divide 20.
func.func @dequantize(%words: tensor<4x8xi32>) {
  // expected-error @+1 {{expects a word for 4 rows of a column, got 'tensor<4x8xi32>' and 'tensor<8x20xf32>'}}
  %0 = heddle.dequantize %words {bits = 8} : (tensor<4x8xi32>) -> tensor<8x20xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<4x8xi32>, %scales: tensor<6x8xf32>) {
  // expected-error @+1 {{expects scales of equal groups of rows and columns, got 'tensor<6x8xf32>' for 'tensor<8x16xf32>'}}
  %0 = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<4x8xi32>, tensor<6x8xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>, %values: tensor<1x16xf32>) {
  // expected-error @+1 {{expects a table of 1x16 values for unsigned numbers of 4 bits, got 'tensor<1x16xf32>'}}
  %0 = heddle.dequantize %words table(%values) {bits = 4} : (tensor<2x8xi32>, tensor<1x16xf32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>, %values: tensor<1x8xf32>) {
  // expected-error @+1 {{expects a table of 1x16 values for unsigned numbers of 4 bits, got 'tensor<1x8xf32>'}}
  %0 = heddle.dequantize %words table(%values) {bits = 4, is_unsigned} : (tensor<2x8xi32>, tensor<1x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @dequantize(%words: tensor<2x8xi32>, %scales: tensor<3x8xf32>) {
  // expected-error @+1 {{expects scales of equal groups of rows and columns, got 'tensor<3x8xf32>' for 'tensor<8x8xf32>'}}
  %0 = heddle.dequantize %words scales(%scales) {bits = 8} : (tensor<2x8xi32>, tensor<3x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @adam_rows(%x: tensor<?xf32, #heddle.dims<"n">>, %r: tensor<1xf32>) {
  // expected-error @+1 {{expects a weight of static shape, got 'tensor<?xf32, #heddle.dims<"n">>'}}
  %0:3 = heddle.adam %x, %x, %x, %x rate %r corrections %r, %r scale %r
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<?xf32, #heddle.dims<"n">>
  return
}

// -----

func.func @too_large() {
  // expected-error @+1 {{the number is beyond those of 'f32'}}
  %0 = heddle.fill 1.0e39 : f32 : tensor<8xf32>
  return
}

// -----

func.func @too_small() {
  // expected-error @+1 {{the number is beyond those of 'f16'}}
  %0 = heddle.fill -65520.0 : f16 : tensor<8xf16>
  return
}

// -----

func.func @panels(%panels: tensor<12x8xbf16>) {
  // expected-error @+1 {{expects whole panels of the result's columns, got 'tensor<12x8xbf16>' for 'tensor<8x12xbf16>'}}
  %0 = heddle.join_panels %panels : tensor<12x8xbf16> -> tensor<8x12xbf16>
  return
}

// -----

func.func @panels_of_another_type(%panels: tensor<12x8xbf16>) {
  // expected-error @+1 {{expects whole panels of the result's columns, got 'tensor<12x8xbf16>' for 'tensor<4x24xf32>'}}
  %0 = heddle.join_panels %panels : tensor<12x8xbf16> -> tensor<4x24xf32>
  return
}

// -----

// expected-error @+1 {{@w is in panels of 'tensor<12x8xbf16>', which are no whole panels of a weight with 12 columns}}
heddle.variable @w weight : tensor<12x8xbf16> {columns = 12}

// -----

// expected-error @+1 {{@w is in panels of 'tensor<12x8xf32>', which are no whole panels of a weight with 24 columns}}
heddle.variable @w cache : tensor<12x8xf32> {columns = 24}
