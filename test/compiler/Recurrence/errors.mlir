// RUN: heddle-opt %s --heddle-lower-scans --split-input-file --verify-diagnostics

#t = #heddle.dims<"tokens">
#s = #heddle.dims<"sequences">
#p = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0
func.func @numbers(%x: tensor<?xf32, #t>, %i: tensor<?xi32, #s>) -> tensor<?xf32, #t> {
  // expected-error @+1 {{goes through rows of matrices only, got 'tensor<?xf32, #heddle.dims<"tokens">>'}}
  %0 = heddle.scan rows(%x) states() constants() of(%i, %i) {row_size = "length", step = "step"}
      : (tensor<?xf32, #t>, tensor<?xi32, #s>, tensor<?xi32, #s>) -> tensor<?xf32, #t> {
  ^bb0(%a: tensor<?xf32, #p>):
    heddle.yield %a : tensor<?xf32, #p>
  }
  return %0 : tensor<?xf32, #t>
}
