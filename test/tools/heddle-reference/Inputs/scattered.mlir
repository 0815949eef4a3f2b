// Rows that are written by index: a table with many rows, and a table with as many rows as the call has.
heddle.size @n max 20
heddle.size @few max 6
!x = tensor<?x4xf32, #heddle.dims<"n">>
!y = tensor<?x4xf32, #heddle.dims<"few">>
heddle.variable @table cache : tensor<24x4xf32>
heddle.variable @small cache : tensor<6x4xf32>
heddle.variable @less cache : tensor<5x4xf32>
func.func @many(%at: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "at", heddle.limit = 24 : i64}, %x: !x {heddle.name = "x"}) -> (!x {heddle.name = "y"}) {
  %old = heddle.read @table : tensor<24x4xf32>
  %new = heddle.scatter_rows %old, %at, %x : tensor<24x4xf32>, tensor<?xi32, #heddle.dims<"n">>, !x
  heddle.write @table, %new : tensor<24x4xf32>
  %y = math.tanh %x : !x
  return %y : !x
}
func.func @all(%at: tensor<?xi32, #heddle.dims<"few">> {heddle.name = "at", heddle.limit = 6 : i64}, %x: !y {heddle.name = "x"}) -> (!y {heddle.name = "y"}) {
  %old = heddle.read @small : tensor<6x4xf32>
  %new = heddle.scatter_rows %old, %at, %x : tensor<6x4xf32>, tensor<?xi32, #heddle.dims<"few">>, !y
  heddle.write @small, %new : tensor<6x4xf32>
  %y = math.tanh %x : !y
  return %y : !y
}
func.func @more(%at: tensor<?xi32, #heddle.dims<"few">> {heddle.name = "at", heddle.limit = 5 : i64}, %x: !y {heddle.name = "x"}) -> (!y {heddle.name = "y"}) {
  %old = heddle.read @less : tensor<5x4xf32>
  %new = heddle.scatter_rows %old, %at, %x : tensor<5x4xf32>, tensor<?xi32, #heddle.dims<"few">>, !y
  heddle.write @less, %new : tensor<5x4xf32>
  %y = math.tanh %x : !y
  return %y : !y
}
