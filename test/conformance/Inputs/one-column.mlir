// Matrices of one column: sums, norms and attention with heads of one column, forward and backward.
#tokens = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
heddle.size @source_tokens max 40
heddle.size @sequences max 4
heddle.size @source_length max 20 longest "source_lengths"
heddle.variable @table weight : tensor<12x1xf32>
heddle.variable @grad.table gradient of @table as gradient : tensor<12x1xf32>
heddle.variable @gamma weight : tensor<1xf32>
heddle.variable @grad.gamma gradient of @gamma as gradient : tensor<1xf32>
heddle.variable @beta weight : tensor<1xf32>
heddle.variable @grad.beta gradient of @beta as gradient : tensor<1xf32>
heddle.variable @projections.weight weight : tensor<32x1xf32>
heddle.variable @projections.bias weight : tensor<2xf32>

func.func @sums(%x: tensor<?x1xf32, #tokens> {heddle.name = "x"}, %y: tensor<?x1xf32, #tokens> {heddle.name = "y"})
    -> (tensor<?xf32, #tokens> {heddle.name = "columns"}, tensor<1xf32> {heddle.name = "rows"}, tensor<?x1xf32, #tokens> {heddle.name = "normal"}) {
  %square = arith.mulf %x, %y : tensor<?x1xf32, #tokens>
  %columns = heddle.sum columns %square : tensor<?x1xf32, #tokens> -> tensor<?xf32, #tokens>
  %rows = heddle.sum rows %square : tensor<?x1xf32, #tokens> -> tensor<1xf32>
  %one = heddle.fill 1.0 : f32 : tensor<?xf32, #tokens>
  %shifted = arith.mulf %columns, %columns : tensor<?xf32, #tokens>
  %sum = arith.addf %shifted, %one : tensor<?xf32, #tokens>
  %scale = math.rsqrt %sum : tensor<?xf32, #tokens>
  %wide = heddle.broadcast %scale : tensor<?xf32, #tokens> to tensor<?x1xf32, #tokens>
  %normal = arith.mulf %x, %wide : tensor<?x1xf32, #tokens>
  return %columns, %rows, %normal : tensor<?xf32, #tokens>, tensor<1xf32>, tensor<?x1xf32, #tokens>
}

func.func @norms(%ids: tensor<?xi32, #tokens> {heddle.name = "ids", heddle.limit = 12 : i64}, %factor: tensor<?x1xf32, #tokens> {heddle.name = "factor"})
    -> (tensor<?x1xf32, #tokens> {heddle.name = "y"}, tensor<1xf32> {heddle.name = "loss"}) {
  %table = heddle.read @table : tensor<12x1xf32>
  %gamma = heddle.read @gamma : tensor<1xf32>
  %beta = heddle.read @beta : tensor<1xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #tokens>, tensor<12x1xf32> -> tensor<?x1xf32, #tokens>
  %y, %mean, %rstd = heddle.layer_norm %x, %gamma, %beta {epsilon = 1.0e-2 : f32}
      : tensor<?x1xf32, #tokens>, tensor<1xf32>, tensor<1xf32> -> tensor<?xf32, #tokens>
  %product = arith.mulf %y, %factor : tensor<?x1xf32, #tokens>
  %loss = heddle.sum rows %product : tensor<?x1xf32, #tokens> -> tensor<1xf32>
  heddle.accumulate %loss
  return %y, %loss : tensor<?x1xf32, #tokens>, tensor<1xf32>
}

func.func @entropy(%ids: tensor<?xi32, #tokens> {heddle.name = "ids", heddle.limit = 12 : i64}, %targets: tensor<?xi32, #tokens> {heddle.name = "targets", heddle.limit = 1 : i64})
    -> (tensor<?xf32, #tokens> {heddle.name = "each"}, tensor<?xi32, #tokens> {heddle.name = "best"}) {
  %table = heddle.read @table : tensor<12x1xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #tokens>, tensor<12x1xf32> -> tensor<?x1xf32, #tokens>
  %each, %lse = heddle.cross_entropy %x, %targets {smoothing = 0.1 : f32}
      : tensor<?x1xf32, #tokens>, tensor<?xi32, #tokens> -> tensor<?xf32, #tokens>
  %best = heddle.argmax %x : tensor<?x1xf32, #tokens> -> tensor<?xi32, #tokens>
  %loss = heddle.sum rows %each : tensor<?xf32, #tokens> -> tensor<1xf32>
  heddle.accumulate %loss
  return %each, %best : tensor<?xf32, #tokens>, tensor<?xi32, #tokens>
}

func.func @attention(%ids: tensor<?xi32, #tokens> {heddle.name = "ids", heddle.limit = 12 : i64}, %factor: tensor<?x1xf32, #tokens> {heddle.name = "factor"},
                     %starts: tensor<?xi32, #sequences> {heddle.name = "source_starts"}, %lengths: tensor<?xi32, #sequences> {heddle.name = "source_lengths", heddle.limit = 21 : i64})
    -> (tensor<?x1xf32, #tokens> {heddle.name = "y"}, tensor<1xf32> {heddle.name = "loss"}) {
  %table = heddle.read @table : tensor<12x1xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #tokens>, tensor<12x1xf32> -> tensor<?x1xf32, #tokens>
  %y, %lse = heddle.attention %x, %x, %x queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 1 : i64, scale = 1.0 : f32, query_size = "source_length", key_size = "source_length"}
      : (tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>)
      -> (tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens>)
  %product = arith.mulf %y, %factor : tensor<?x1xf32, #tokens>
  %loss = heddle.sum rows %product : tensor<?x1xf32, #tokens> -> tensor<1xf32>
  heddle.accumulate %loss
  return %y, %loss : tensor<?x1xf32, #tokens>, tensor<1xf32>
}

func.func @pairs(%ids: tensor<?xi32, #tokens> {heddle.name = "ids", heddle.limit = 12 : i64}, %factor: tensor<?x1xf32, #tokens> {heddle.name = "factor"},
                 %starts: tensor<?xi32, #sequences> {heddle.name = "source_starts"}, %lengths: tensor<?xi32, #sequences> {heddle.name = "source_lengths", heddle.limit = 21 : i64})
    -> (tensor<?x1xf32, #tokens> {heddle.name = "y"}, tensor<1xf32> {heddle.name = "loss"}) {
  %table = heddle.read @table : tensor<12x1xf32>
  %x = heddle.embedding %ids, %table : tensor<?xi32, #tokens>, tensor<12x1xf32> -> tensor<?x1xf32, #tokens>
  %scores = heddle.scores %x, %x queries(%starts, %lengths) keys(%starts, %lengths) {query_size = "source_length", key_size = "source_length"}
      : (tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x1x20xf32, #tokens>
  %soft = math.tanh %scores : tensor<?x1x20xf32, #tokens>
  %y = heddle.context %soft, %x queries(%starts, %lengths) keys(%starts, %lengths) {query_size = "source_length", key_size = "source_length"}
      : (tensor<?x1x20xf32, #tokens>, tensor<?x1xf32, #tokens>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>, tensor<?xi32, #sequences>) -> tensor<?x1xf32, #tokens>
  %product = arith.mulf %y, %factor : tensor<?x1xf32, #tokens>
  %loss = heddle.sum rows %product : tensor<?x1xf32, #tokens> -> tensor<1xf32>
  heddle.accumulate %loss
  return %y, %loss : tensor<?x1xf32, #tokens>, tensor<1xf32>
}

// Softmax of one key, and of parts of one column.
func.func @one_key(%x: tensor<?x1xf32, #tokens> {heddle.name = "x"}, %z: tensor<?x3xf32, #tokens> {heddle.name = "z"})
    -> (tensor<?x1xf32, #tokens> {heddle.name = "y"}, tensor<?x3xf32, #tokens> {heddle.name = "w"}) {
  %scores = heddle.reshape %x : tensor<?x1xf32, #tokens> to tensor<?x1x1xf32, #tokens>
  %soft = heddle.softmax %scores : tensor<?x1x1xf32, #tokens>
  %y = heddle.reshape %soft : tensor<?x1x1xf32, #tokens> to tensor<?x1xf32, #tokens>
  %parts = heddle.reshape %z : tensor<?x3xf32, #tokens> to tensor<?x3x1xf32, #tokens>
  %softer = heddle.softmax %parts : tensor<?x3x1xf32, #tokens>
  %w = heddle.reshape %softer : tensor<?x3x1xf32, #tokens> to tensor<?x3xf32, #tokens>
  return %y, %w : tensor<?x1xf32, #tokens>, tensor<?x3xf32, #tokens>
}

// Projections to one column each, whose biases lie side by side: a register of two would begin between them.
func.func @projections(%x: tensor<?x16xf32, #tokens> {heddle.name = "x"})
    -> (tensor<?x1xf32, #tokens> {heddle.name = "y"}, tensor<?x1xf32, #tokens> {heddle.name = "z"}) {
  %w = heddle.read @projections.weight : tensor<32x1xf32>
  %b = heddle.read @projections.bias : tensor<2xf32>
  %y, %z = heddle.project %x, %w, %b : tensor<?x16xf32, #tokens>, tensor<32x1xf32>, tensor<2xf32>
    -> tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens>
  return %y, %z : tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens>
}

// The gradients of a weight and a bias of one number each. Both are 1 x 1 matrices.
func.func @projection_gradients(%x: tensor<?x1xf32, #tokens> {heddle.name = "x"}, %g: tensor<?x1xf32, #tokens> {heddle.name = "g"}, %before: tensor<1x1xf32> {heddle.name = "before"})
    -> (tensor<1x1xf32> {heddle.name = "weight"}, tensor<1xf32> {heddle.name = "bias"}) {
  %weight, %bias = heddle.project_grad_weights %x, %g : tensor<?x1xf32, #tokens>, tensor<?x1xf32, #tokens> -> tensor<1x1xf32>, tensor<1xf32>
  %sum = arith.addf %before, %weight : tensor<1x1xf32>
  return %sum, %bias : tensor<1x1xf32>, tensor<1xf32>
}
