// Sequences with names of their own, and a number without a known meaning.
heddle.size @n max 64
heddle.size @s max 5
heddle.size @l max 16 longest "len"
#n = #heddle.dims<"n">
#s = #heddle.dims<"s">
func.func @f(%q: tensor<?x16xf32, #n> {heddle.name = "q"}, %at: tensor<?xi32, #s> {heddle.name = "at"},
             %len: tensor<?xi32, #s> {heddle.name = "len"}, %z: tensor<?xi32, #s> {heddle.name = "z"})
    -> (tensor<?x16xf32, #n> {heddle.name = "y"}, tensor<?xi32, #s> {heddle.name = "d"}) {
  %y, %e = heddle.attention %q, %q, %q queries(%at, %len) keys(%at, %len) mask {
  ^bb0(%a: i32, %b: i32):
    %one = arith.constant 1 : i32
    %half = arith.shrsi %a, %one : i32
    %c = arith.cmpi sle, %b, %half : i32
    heddle.yield %c : i1
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "l", key_size = "l"}
    : (tensor<?x16xf32, #n>, tensor<?x16xf32, #n>, tensor<?x16xf32, #n>, tensor<?xi32, #s>, tensor<?xi32, #s>,
       tensor<?xi32, #s>, tensor<?xi32, #s>) -> (tensor<?x16xf32, #n>, tensor<?x2xf32, #n>)
  %d = arith.divsi %len, %z : tensor<?xi32, #s>
  return %y, %d : tensor<?x16xf32, #n>, tensor<?xi32, #s>
}
