// RUN: heddle-opt %s --heddle-derive-contract --split-input-file --verify-diagnostics

#n = #heddle.dims<"n">
heddle.size @n max 100
func.func @lost(%a: tensor<?xi32, #n> {heddle.name = "a"}, %b: tensor<?xi32, #n> {heddle.name = "b"},
                %table: tensor<9x2xf32> {heddle.name = "table"}) -> tensor<?x2xf32, #n> {
  %c = arith.muli %a, %b : tensor<?xi32, #n>
  // expected-warning @+1 {{entry 'lost': 'heddle.embedding' takes rows that are computed in a way that cannot be followed back to inputs}}
  %y = heddle.embedding %c, %table : tensor<?xi32, #n>, tensor<9x2xf32> -> tensor<?x2xf32, #n>
  return %y : tensor<?x2xf32, #n>
}

// -----

// A variable of indices to which something else is written.
#n = #heddle.dims<"n">
heddle.size @n max 100
heddle.variable @chosen cache : tensor<4xi32>
func.func @choose(%a: tensor<4xi32> {heddle.name = "a"}) {
  heddle.write @chosen, %a : tensor<4xi32>
  return
}
func.func @use(%table: tensor<9x2xf32> {heddle.name = "table"}) -> tensor<4x2xf32> {
  %rows = heddle.read @chosen : tensor<4xi32>
  // expected-warning @+1 {{'heddle.embedding' takes rows that are computed in a way}}
  %y = heddle.embedding %rows, %table : tensor<4xi32>, tensor<9x2xf32> -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
