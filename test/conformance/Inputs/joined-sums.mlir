// Columns that are joined after a sum over the columns of each row.
#tokens = #heddle.dims<"tokens">
heddle.size @tokens max 40

func.func @join(%x: tensor<?x8xf32, #tokens> {heddle.name = "x"}, %z: tensor<?x3xf32, #tokens> {heddle.name = "z"})
    -> (tensor<?x11xf32, #tokens> {heddle.name = "y"}) {
  %square = arith.mulf %x, %x : tensor<?x8xf32, #tokens>
  %sums = heddle.sum columns %square : tensor<?x8xf32, #tokens> -> tensor<?xf32, #tokens>
  %wide = heddle.broadcast %sums : tensor<?xf32, #tokens> to tensor<?x8xf32, #tokens>
  %scaled = arith.mulf %x, %wide : tensor<?x8xf32, #tokens>
  %y = heddle.join %scaled, %z : tensor<?x8xf32, #tokens>, tensor<?x3xf32, #tokens> -> tensor<?x11xf32, #tokens>
  return %y : tensor<?x11xf32, #tokens>
}

func.func @twice(%x: tensor<?x5xf32, #tokens> {heddle.name = "x"}) -> (tensor<?x10xf32, #tokens> {heddle.name = "y"}, tensor<?xf32, #tokens> {heddle.name = "sums"}) {
  %sums = heddle.sum columns %x : tensor<?x5xf32, #tokens> -> tensor<?xf32, #tokens>
  %wide = heddle.broadcast %sums : tensor<?xf32, #tokens> to tensor<?x5xf32, #tokens>
  %centred = arith.subf %x, %wide : tensor<?x5xf32, #tokens>
  %y = heddle.join %centred, %wide : tensor<?x5xf32, #tokens>, tensor<?x5xf32, #tokens> -> tensor<?x10xf32, #tokens>
  return %y, %sums : tensor<?x10xf32, #tokens>, tensor<?xf32, #tokens>
}

func.func @entropy(%x: tensor<?x7xf32, #tokens> {heddle.name = "x"}, %targets: tensor<?xi32, #tokens> {heddle.name = "targets", heddle.limit = 7 : i64})
    -> (tensor<?x9xf32, #tokens> {heddle.name = "y"}) {
  %loss, %lse = heddle.cross_entropy %x, %targets {smoothing = 0.0 : f32} : tensor<?x7xf32, #tokens>, tensor<?xi32, #tokens> -> tensor<?xf32, #tokens>
  %wide = heddle.broadcast %lse : tensor<?xf32, #tokens> to tensor<?x7xf32, #tokens>
  %shifted = arith.subf %x, %wide : tensor<?x7xf32, #tokens>
  %two = heddle.columns %x from 1 : tensor<?x7xf32, #tokens> -> tensor<?x2xf32, #tokens>
  %y = heddle.join %shifted, %two : tensor<?x7xf32, #tokens>, tensor<?x2xf32, #tokens> -> tensor<?x9xf32, #tokens>
  return %y : tensor<?x9xf32, #tokens>
}
