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

// A variable of indices to which other values are written.
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

// -----

// A scan's state that changes: its initial value says nothing about later ones.
#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0
!numbers = tensor<?xi32, #sequences>
func.func @changing(%x: tensor<?xi32, #tokens> {heddle.name = "x"}, %begin: !numbers {heddle.name = "begin"},
                    %starts: !numbers {heddle.name = "starts"}, %lengths: !numbers {heddle.name = "lengths"},
                    %table: tensor<9x2xf32> {heddle.name = "table"}) -> tensor<?x2xf32, #tokens> {
  %last, %rows = heddle.scan rows(%x) states(%begin) constants(%table) of(%starts, %lengths) {row_size = "length", step = "step"}
      : (tensor<?xi32, #tokens>, !numbers, tensor<9x2xf32>, !numbers, !numbers) -> (!numbers, tensor<?x2xf32, #tokens>) {
  ^bb0(%now: tensor<?xi32, #step>, %which: tensor<?xi32, #step>, %t: tensor<9x2xf32>):
    // expected-warning @+1 {{entry 'changing': 'heddle.embedding' takes rows that are computed in a way that cannot be followed back to inputs}}
    %row = heddle.embedding %which, %t : tensor<?xi32, #step>, tensor<9x2xf32> -> tensor<?x2xf32, #step>
    %next = arith.addi %which, %now : tensor<?xi32, #step>
    heddle.yield %next, %row : tensor<?xi32, #step>, tensor<?x2xf32, #step>
  }
  return %rows : tensor<?x2xf32, #tokens>
}
