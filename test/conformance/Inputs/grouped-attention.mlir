// Grouped-query attention with three and with five query heads for each key head. Dropout draws numbers for each head,
// and scores depend on their head. Epilogues that join the kernel, and epilogues that do not.
#tokens = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
!ids = tensor<?xi32, #tokens>
!segments = tensor<?xi32, #sequences>
heddle.size @source_tokens max 60
heddle.size @sequences max 4
heddle.size @source_length max 30 longest "source_lengths"
heddle.variable @queries weight : tensor<12x48xf32>
heddle.variable @grad.queries gradient of @queries as gradient : tensor<12x48xf32>
heddle.variable @keys weight : tensor<12x16xf32>
heddle.variable @grad.keys gradient of @keys as gradient : tensor<12x16xf32>
heddle.variable @many weight : tensor<12x20xf32>
heddle.variable @grad.many gradient of @many as gradient : tensor<12x20xf32>
heddle.variable @few weight : tensor<12x4xf32>
heddle.variable @grad.few gradient of @few as gradient : tensor<12x4xf32>

func.func @three(%ids: !ids {heddle.name = "ids", heddle.limit = 12 : i64}, %factor: tensor<?x48xf32, #tokens> {heddle.name = "factor"},
                 %seed: tensor<2xi32> {heddle.name = "seed"}, %step: tensor<1xi32> {heddle.name = "step"},
                 %starts: !segments {heddle.name = "source_starts"}, %lengths: !segments {heddle.name = "source_lengths", heddle.limit = 31 : i64})
    -> (tensor<?x48xf32, #tokens> {heddle.name = "y"}, tensor<1xf32> {heddle.name = "loss"}) {
  %queries = heddle.read @queries : tensor<12x48xf32>
  %keys = heddle.read @keys : tensor<12x16xf32>
  %q = heddle.embedding %ids, %queries : !ids, tensor<12x48xf32> -> tensor<?x48xf32, #tokens>
  %k = heddle.embedding %ids, %keys : !ids, tensor<12x16xf32> -> tensor<?x16xf32, #tokens>
  %y, %lse = heddle.attention %q, %k, %k queries(%starts, %lengths) keys(%starts, %lengths) dropout(%seed, %step) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %slope = arith.sitofp %head : i32 to f32
    %soft = math.tanh %score : f32
    %scaled = arith.mulf %soft, %slope : f32
    heddle.yield %scaled : f32
  } mask {
  ^bb0(%i: i32, %j: i32):
    %c = arith.cmpi sle, %j, %i : i32
    heddle.yield %c : i1
  } {heads = 6 : i64, scale = 0.35 : f32, dropout = 0.3 : f32, stream = 7 : i32, query_size = "source_length", key_size = "source_length"}
      : (tensor<?x48xf32, #tokens>, tensor<?x16xf32, #tokens>, tensor<?x16xf32, #tokens>, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>)
      -> (tensor<?x48xf32, #tokens>, tensor<?x6xf32, #tokens>)
  %product = arith.mulf %y, %factor : tensor<?x48xf32, #tokens>
  %columns = heddle.sum columns %product : tensor<?x48xf32, #tokens> -> tensor<?xf32, #tokens>
  %wide = heddle.broadcast %columns : tensor<?xf32, #tokens> to tensor<?x48xf32, #tokens>
  %all = heddle.sum rows %wide : tensor<?x48xf32, #tokens> -> tensor<48xf32>
  %loss = heddle.sum columns %all : tensor<48xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %y, %loss : tensor<?x48xf32, #tokens>, tensor<1xf32>
}

func.func @five(%ids: !ids {heddle.name = "ids", heddle.limit = 12 : i64}, %factor: tensor<?x20xf32, #tokens> {heddle.name = "factor"},
                %bias: tensor<20xf32> {heddle.name = "bias"},
                %starts: !segments {heddle.name = "source_starts"}, %lengths: !segments {heddle.name = "source_lengths", heddle.limit = 31 : i64})
    -> (tensor<?x20xf32, #tokens> {heddle.name = "y"}) {
  %many = heddle.read @many : tensor<12x20xf32>
  %few = heddle.read @few : tensor<12x4xf32>
  %q = heddle.embedding %ids, %many : !ids, tensor<12x20xf32> -> tensor<?x20xf32, #tokens>
  %k = heddle.embedding %ids, %few : !ids, tensor<12x4xf32> -> tensor<?x4xf32, #tokens>
  %y, %lse = heddle.attention %q, %k, %k queries(%starts, %lengths) keys(%starts, %lengths) mask {
  ^bb0(%i: i32, %j: i32):
    %three = arith.constant 3 : i32
    %d = arith.subi %i, %j : i32
    %near = arith.cmpi sle, %d, %three : i32
    heddle.yield %near : i1
  } {heads = 5 : i64, scale = 0.5 : f32, query_size = "source_length", key_size = "source_length"}
      : (tensor<?x20xf32, #tokens>, tensor<?x4xf32, #tokens>, tensor<?x4xf32, #tokens>, !segments, !segments, !segments, !segments)
      -> (tensor<?x20xf32, #tokens>, tensor<?x5xf32, #tokens>)
  %wide = heddle.broadcast %bias : tensor<20xf32> to tensor<?x20xf32, #tokens>
  %product = arith.mulf %y, %factor : tensor<?x20xf32, #tokens>
  %sum = arith.addf %product, %wide : tensor<?x20xf32, #tokens>
  return %sum : tensor<?x20xf32, #tokens>
}
