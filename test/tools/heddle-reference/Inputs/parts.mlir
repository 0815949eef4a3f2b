!q = tensor<?x8xf32, #heddle.dims<"sequences">>
!s = tensor<?xi32, #heddle.dims<"sequences">>
heddle.size @sequences max 2
heddle.size @length max 300 longest "lengths"
func.func @decode(%q: !q {heddle.name = "q"}, %k: tensor<400x4xf32> {heddle.name = "k"}, %sink: tensor<2xf32> {heddle.name = "sink"},
                  %qs: !s {heddle.name = "qs", heddle.limit = 3 : i64}, %ql: !s {heddle.name = "ql", heddle.limit = 2 : i64},
                  %ks: !s {heddle.name = "ks", heddle.limit = 401 : i64}, %kl: !s {heddle.name = "lengths", heddle.limit = 301 : i64})
    -> (!q {heddle.name = "y"}) {
  %y, %lse = heddle.attention %q, %k, %k sink(%sink) queries(%qs, %ql) keys(%ks, %kl)
    {heads = 2 : i64, key_size = "length", query_size = "", scale = 5.0e-01 : f32}
    : (!q, tensor<400x4xf32>, tensor<400x4xf32>, tensor<2xf32>, !s, !s, !s, !s) -> (!q, tensor<?x2xf32, #heddle.dims<"sequences">>)
  return %y : !q
}
