// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{@tokens expects a maximum of at least 1, got 0}}
heddle.size @tokens max 0

// -----

// expected-error @+1 {{@tokens expects a maximum of at most 16777216, got 16777217}}
heddle.size @tokens max 16777217

// -----

// expected-error @+1 {{@number expects a maximum of at most 2147483647, got 2147483648}}
heddle.size @number max 2147483648 fixed

// -----

// expected-error @+1 {{@w is a 'tensor<8x0xf32>', and variables are tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each; truth values are not stored}}
heddle.variable @w weight : tensor<8x0xf32>

// -----

// expected-error @+1 {{cannot be called @__metadata__: checkpoints have their metadata by that name}}
heddle.variable @__metadata__ weight : tensor<8xf32>

// -----

// expected-error @+1 {{@w begins with 9.9999999999999994E+38 : f64, which is beyond the numbers of 'f32'}}
heddle.variable @w weight : tensor<8xf32> {start = #heddle.start<constant 1.000000e+39 : f64>}

// -----

// expected-error @+1 {{@n begins with 3.000000e+09 : f64, which is beyond the numbers of 'i32'}}
heddle.variable @n counter : tensor<1xi32> {start = #heddle.start<constant 3.000000e+09 : f64>}

// -----

func.func @scalar(%x: tensor<f32>) {
  // expected-error @+1 {{takes tensors of f32, bf16, f16, i32 or i1, with one to three dimensions of at least one element each, got 'tensor<f32>'}}
  %0 = heddle.sum rows %x : tensor<f32> -> tensor<1xf32>
  return
}

// -----

// expected-error @+1 {{expects a static shape, got 'tensor<?x8xf32>'}}
heddle.variable @w weight : tensor<?x8xf32>

// -----

// expected-error @+1 {{#heddle.dims names 2 sizes, but the tensor has 1 dynamic dimensions}}
func.func private @dims(tensor<?x8xf32, #heddle.dims<"tokens", "sequences">>)

// -----

func.func @read() {
  // expected-error @+1 {{names a variable that is not declared: @w}}
  %0 = heddle.read @w : tensor<8xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>
func.func @read() {
  // expected-error @+1 {{has type 'tensor<4xf32>', but variable @w is 'tensor<8xf32>'}}
  %0 = heddle.read @w : tensor<4xf32>
  return
}

// -----

func.func @write(%x: tensor<8xf32>) {
  // expected-error @+1 {{names a variable that is not declared: @w}}
  heddle.write @w, %x : tensor<8xf32>
  return
}

// -----

heddle.variable @w weight : tensor<8xf32>
func.func @write(%x: tensor<4xf32>) {
  // expected-error @+1 {{has type 'tensor<4xf32>', but variable @w is 'tensor<8xf32>'}}
  heddle.write @w, %x : tensor<4xf32>
  return
}

// -----

func.func @minimize(%loss: tensor<2xf32>) {
  // expected-error @+1 {{operand #0 must be tensor<1xf32>}}
  "heddle.accumulate"(%loss) : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @kernel(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects its region's arguments to have the inputs' types}}
  heddle.kernel "k" (%x : tensor<8xf32>) {
  ^bb0(%a: tensor<4xf32>):
    heddle.yield
  }
  return
}

// -----

func.func @kernel(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects its region to yield the results' types}}
  %0 = heddle.kernel "k" (%x : tensor<8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<8xf32>):
    heddle.yield %a : tensor<8xf32>
  }
  return
}

// -----

// expected-error @+1 {{names a size that is not declared: @tokens}}
heddle.size @chunk max 4 of @tokens from 0

// -----

heddle.size @tokens max 8
// expected-error @+1 {{covers 4 from 6 on of @tokens, whose maximum is 8}}
heddle.size @chunk max 4 of @tokens from 6

// -----

heddle.size @tokens max 8
// expected-error @+1 {{is @tokens above 4 and at most 4, and that is at most 8}}
heddle.size @few max 4 of @tokens from 4 within

// -----

heddle.size @tokens max 8
// expected-error @+1 {{is @tokens above 0 and at most 9, and that is at most 8}}
heddle.size @few max 9 of @tokens from 0 within

// -----

// expected-error @+1 {{is within bounds of no size}}
heddle.size @few max 4 {within}

// -----

heddle.size @tokens max 8
heddle.size @chunk max 4 of @tokens from 0
// expected-error @+1 {{expects @chunk to be bound by an input}}
heddle.size @part max 4 of @chunk from 0

// -----

// expected-error @+1 {{names a variable that is not declared: @w}}
heddle.variable @v weight : tensor<4x8xf32> in @w from 0

// -----

heddle.variable @w weight : tensor<8x4xf32>
// expected-error @+1 {{expects rows of the same type in 'tensor<4x8xf32>' and 'tensor<8x4xf32>'}}
heddle.variable @v weight : tensor<4x8xf32> in @w from 0

// -----

// expected-error @+1 {{@w is a view of itself}}
heddle.variable @w weight : tensor<8x4xf32> in @v from 0
heddle.variable @v weight : tensor<8x4xf32> in @w from 0

// -----

// expected-error @+1 {{is the model's seed, which is a 'tensor<2xi32>', got 'tensor<4xi32>'}}
heddle.variable @seed counter as seed : tensor<4xi32>

// -----

// expected-error @+1 {{is the model's seed, which is a 'tensor<2xi32>', got 'tensor<2xf32>'}}
heddle.variable @seed counter as seed : tensor<2xf32>

// -----

heddle.variable @w weight : tensor<8x4xf32>
// expected-error @+1 {{expects rows that @w has, got 'tensor<4x4xf32>' from row 5 of 'tensor<8x4xf32>'}}
heddle.variable @v weight : tensor<4x4xf32> in @w from 5

// -----

func.func @reshape(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{cannot take 'tensor<8x4xf32>' as 'tensor<2x3x5xf32>': expects as many elements in as many rows}}
  %0 = heddle.reshape %x : tensor<8x4xf32> to tensor<2x3x5xf32>
  return
}

// -----

func.func @reshape(%x: tensor<?x4xf32, #heddle.dims<"n">>) {
  // expected-error @+1 {{cannot take 'tensor<?x4xf32, #heddle.dims<"n">>' as 'tensor<?x2x2xf32, #heddle.dims<"m">>'}}
  %0 = heddle.reshape %x : tensor<?x4xf32, #heddle.dims<"n">> to tensor<?x2x2xf32, #heddle.dims<"m">>
  return
}

// -----

func.func @reshape(%x: tensor<?x4xf32, #heddle.dims<"n">>) {
  // expected-error @+1 {{cannot take 'tensor<?x4xf32, #heddle.dims<"n">>' as 'tensor<?x2x3xf32, #heddle.dims<"n">>'}}
  %0 = heddle.reshape %x : tensor<?x4xf32, #heddle.dims<"n">> to tensor<?x2x3xf32, #heddle.dims<"n">>
  return
}

// -----

func.func @reshape(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expects the same element type in 'tensor<8x4xf32>' and 'tensor<8x4xi32>'}}
  %0 = heddle.reshape %x : tensor<8x4xf32> to tensor<8x4xi32>
  return
}

// -----

func.func @slice(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expects rows of the same type in 'tensor<8x4xf32>' and 'tensor<4xf32>'}}
  %0 = heddle.slice %x from 0 : tensor<8x4xf32> to tensor<4xf32>
  return
}

// -----

func.func @slice(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expects rows that 'tensor<8x4xf32>' has, got 'tensor<4x4xf32>' from row 5 on}}
  %0 = heddle.slice %x from 5 : tensor<8x4xf32> to tensor<4x4xf32>
  return
}

// -----

func.func @concat() {
  // expected-error @+1 {{expects at least one part}}
  %0 = "heddle.concat"() : () -> tensor<8x4xf32>
  return
}

// -----

func.func @concat(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expects rows of the same type in 'tensor<8x4xf32>' and 'tensor<8x3xf32>'}}
  %0 = heddle.concat %x : tensor<8x4xf32> to tensor<8x3xf32>
  return
}

// -----

func.func @concat(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expects a result with the rows of its parts, got 'tensor<20x4xf32>'}}
  %0 = heddle.concat %x, %x : tensor<8x4xf32>, tensor<8x4xf32> to tensor<20x4xf32>
  return
}

// -----

// expected-error @+1 {{expects a beam of at least 1, got 0}}
heddle.task "translate" {beam = 0 : i64}

// -----

// expected-error @+1 {{expects at least 1 of cache_rows, got 0}}
heddle.task "translate" {beam = 4 : i64, cache_rows = 0 : i64}

// -----

// expected-error @+1 {{expects loss_scale and scale_interval together or not at all}}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32,
                 loss_scale = 8.0 : f32}

// -----

heddle.variable @w weight : tensor<8xf32>
// expected-error @+1 {{belongs to @w and does not say as what: write `of @w as first_moment`}}
heddle.variable @m optimizer_state of @w : tensor<8xf32>

// -----

// expected-error @+1 {{is a weight's first_moment and does not say of which weight: write `of @weight as first_moment`}}
heddle.variable @m optimizer_state as first_moment : tensor<8xf32>

// -----

heddle.variable @w weight : tensor<1xi32>
// expected-error @+1 {{is the model's steps and belongs to no weight, got `of @w`}}
heddle.variable @n counter of @w as steps : tensor<1xi32>

// -----

heddle.variable @w weight : tensor<8xf32>
// expected-error @+1 {{is counter, but its role average is of kind optimizer_state}}
heddle.variable @a counter of @w as average : tensor<8xf32>

// -----

heddle.variable @w weight : tensor<8xf32>
// expected-error @+1 {{is a 'tensor<4xbf16>', but @w, which it belongs to, is a 'tensor<8xf32>'}}
heddle.variable @m optimizer_state of @w as first_moment : tensor<4xbf16>

// -----

heddle.variable @w weight : tensor<8xf32>
// expected-error @+1 {{is a 'tensor<8xbf16>', but @w, which it belongs to, is a 'tensor<8xf32>'}}
heddle.variable @a optimizer_state of @w as average : tensor<8xbf16>

// -----

// expected-error @+1 {{names a variable that is not declared: @w}}
heddle.variable @m optimizer_state of @w as second_moment : tensor<8xf32>

// -----

heddle.variable @c cache : tensor<8xf32>
// expected-error @+1 {{belongs to @c, which is cache and no weight}}
heddle.variable @g gradient of @c as gradient : tensor<8xf32>

// -----

heddle.variable @w weight : tensor<8xf32>
// expected-error @+1 {{is a 'tensor<4xf32>', but @w, which it belongs to, is a 'tensor<8xf32>'}}
heddle.variable @g gradient of @w as gradient : tensor<4xf32>

// -----

heddle.variable @w weight : tensor<8x4xf32>
// expected-error @+1 {{is a 'tensor<4x8xbf16>', but @w, which it belongs to, is a 'tensor<8x4xf32>'}}
heddle.variable @c cache of @w as rounded : tensor<4x8xbf16>

// -----

func.func @minimize(%loss: tensor<1xf32>) {
  // expected-error @+1 {{expects its rate region to take the step's number and to yield the rate, both tensor<1xf32>}}
  heddle.minimize %loss {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%step: tensor<1xi32>):
    heddle.yield %loss : tensor<1xf32>
  }
  return
}

// -----

func.func @apply() {
  // expected-error @+1 {{expects elementwise arithmetic in its rate region, not 'heddle.sum'}}
  heddle.apply {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32, clip_norm = 0.0 : f32} rate {
  ^bb0(%step: tensor<1xf32>):
    %sum = heddle.sum columns %step : tensor<1xf32> -> tensor<1xf32>
    heddle.yield %sum : tensor<1xf32>
  }
  return
}

// -----

heddle.variable @w weight : tensor<2x8xi32>
// expected-error @+1 {{is a 'tensor<8xf32>' of scales, and @w a 'tensor<2x8xi32>'; expects a matrix of f32, f16, bf16 or words for a matrix of packed words}}
heddle.variable @w.scales weight of @w as scales : tensor<8xf32>

// -----

// expected-error @+1 {{is a weight's scales and does not say of which weight: write `of @weight as scales`}}
heddle.variable @w.scales weight as scales : tensor<1x8xf32>

// -----

// All missing variables are reported at once.
func.func @f() -> tensor<2xf32> {
  // expected-error @+1 {{names a variable that is not declared: @w}}
  %w = heddle.read @w : tensor<2xf32>
  // expected-note @+1 {{nor is @v}}
  %v = heddle.read @v : tensor<2xf32>
  %again = heddle.read @w : tensor<2xf32>
  // expected-note @+1 {{nor is @u}}
  heddle.write @u, %v : tensor<2xf32>
  return %w : tensor<2xf32>
}

// -----

// Sums that exceed 64 bits.
heddle.size @tokens max 8
// expected-error @+1 {{covers 4 from 9223372036854775806 on of @tokens, whose maximum is 8}}
heddle.size @chunk max 4 of @tokens from 9223372036854775806

// -----

heddle.variable @w weight : tensor<8x4xf32>
// expected-error @+1 {{expects rows that @w has, got 'tensor<4x4xf32>' from row 9223372036854775806}}
heddle.variable @v weight : tensor<4x4xf32> in @w from 9223372036854775806

// -----

func.func @slice(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{expects rows that 'tensor<8x4xf32>' has, got 'tensor<4x4xf32>' from row 9223372036854775806 on}}
  %0 = heddle.slice %x from 9223372036854775806 : tensor<8x4xf32> to tensor<4x4xf32>
  return
}

// -----

// expected-error @+1 {{@w is a 'tensor<4xi32>', and f32 alone begins at random}}
heddle.variable @w weight : tensor<4xi32> {start = #heddle.start<uniform 1.0>}
