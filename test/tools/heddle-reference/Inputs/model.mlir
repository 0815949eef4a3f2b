#n = #heddle.dims<"n">
heddle.size @n max 8
heddle.variable @w weight : tensor<2xf32>
heddle.variable @grad.w gradient of @w as gradient : tensor<2xf32>

func.func @step(%x: tensor<?x2xf32, #n> {heddle.name = "x"}) -> (tensor<1xf32> {heddle.name = "loss"}, tensor<?xf32, #n> {heddle.name = "sums"}) {
  %w = heddle.read @w : tensor<2xf32>
  %wide = heddle.broadcast %w : tensor<2xf32> to tensor<?x2xf32, #n>
  %y = arith.mulf %x, %wide : tensor<?x2xf32, #n>
  %sums = heddle.sum columns %y : tensor<?x2xf32, #n> -> tensor<?xf32, #n>
  %squares = arith.mulf %sums, %sums : tensor<?xf32, #n>
  %loss = heddle.sum rows %squares : tensor<?xf32, #n> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss, %sums : tensor<1xf32>, tensor<?xf32, #n>
}
