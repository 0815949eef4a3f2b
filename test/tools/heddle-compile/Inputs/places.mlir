heddle.size @n max 64
#n = #heddle.dims<"n">
func.func @sums(%x: tensor<?x16xf32, #n> {heddle.name = "x"}) -> (tensor<16xf32> {heddle.name = "a"}, tensor<16xf32> {heddle.name = "b"}) {
  %a = heddle.sum rows %x : tensor<?x16xf32, #n> -> tensor<16xf32> loc("FOLDER/model/open.toml":1:1)
  %y = math.exp %x : tensor<?x16xf32, #n> loc("FOLDER/model/../other/secret.toml":1:1)
  %b = heddle.sum rows %y : tensor<?x16xf32, #n> -> tensor<16xf32>
  return %a, %b : tensor<16xf32>, tensor<16xf32>
}
