// Gradients of numbers that all parts of all rows share, and of sums of their rows.
#tokens = #heddle.dims<"tokens">
heddle.size @tokens max 40
heddle.variable @scale weight : tensor<1xf32>
heddle.variable @grad.scale gradient of @scale as gradient : tensor<1xf32>
heddle.variable @row weight : tensor<4xf32>
heddle.variable @grad.row gradient of @row as gradient : tensor<4xf32>
heddle.variable @table weight : tensor<6x12xf32>
heddle.variable @grad.table gradient of @table as gradient : tensor<6x12xf32>

func.func @parts(%ids: tensor<?xi32, #tokens> {heddle.name = "ids", heddle.limit = 6 : i64}, %factor: tensor<?x3x4xf32, #tokens> {heddle.name = "factor"})
    -> (tensor<1xf32> {heddle.name = "loss"}) {
  %scale = heddle.read @scale : tensor<1xf32>
  %row = heddle.read @row : tensor<4xf32>
  %table = heddle.read @table : tensor<6x12xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #tokens>, tensor<6x12xf32> -> tensor<?x12xf32, #tokens>
  %parts = heddle.reshape %x : tensor<?x12xf32, #tokens> to tensor<?x3x4xf32, #tokens>
  %wide = heddle.broadcast %scale : tensor<1xf32> to tensor<?x3x4xf32, #tokens>
  %rows = heddle.broadcast %row : tensor<4xf32> to tensor<?x3x4xf32, #tokens>
  %scaled = arith.mulf %parts, %wide : tensor<?x3x4xf32, #tokens>
  %shifted = arith.addf %scaled, %rows : tensor<?x3x4xf32, #tokens>
  %soft = math.tanh %shifted : tensor<?x3x4xf32, #tokens>
  %product = arith.mulf %soft, %factor : tensor<?x3x4xf32, #tokens>
  %sums = heddle.sum rows %product : tensor<?x3x4xf32, #tokens> -> tensor<12xf32>
  %squares = arith.mulf %sums, %sums : tensor<12xf32>
  %loss = heddle.sum columns %squares : tensor<12xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// A number for one of two parts that are joined.
func.func @joined(%ids: tensor<?xi32, #tokens> {heddle.name = "ids", heddle.limit = 6 : i64}, %factor: tensor<?x15xf32, #tokens> {heddle.name = "factor"})
    -> (tensor<1xf32> {heddle.name = "loss"}) {
  %scale = heddle.read @scale : tensor<1xf32>
  %table = heddle.read @table : tensor<6x12xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #tokens>, tensor<6x12xf32> -> tensor<?x12xf32, #tokens>
  %wide = heddle.broadcast %scale : tensor<1xf32> to tensor<?x3xf32, #tokens>
  %both = heddle.join %wide, %x : tensor<?x3xf32, #tokens>, tensor<?x12xf32, #tokens> -> tensor<?x15xf32, #tokens>
  %soft = math.tanh %both : tensor<?x15xf32, #tokens>
  %product = arith.mulf %soft, %factor : tensor<?x15xf32, #tokens>
  %sums = heddle.sum rows %product : tensor<?x15xf32, #tokens> -> tensor<15xf32>
  %loss = heddle.sum columns %sums : tensor<15xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}
