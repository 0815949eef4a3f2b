// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects parameters beside a combine region alone}}
  %0 = heddle.scores %q, %k parameters(%v) queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects queries that are alone in their sequences where a region combines them with keys of lists}}
  %0 = heddle.scores %q, %k rows(%r) queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2x9xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects the same width in 'tensor<4x8xf32>' (dimension 1) and 'tensor<4xf32>' (dimension 0)}}
  %0 = heddle.scores %q, %k parameters(%w) queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32, %c: f32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects its combine region to take an f32 of the query, of the key and of each parameter}}
  %0 = heddle.scores %q, %k parameters(%v) queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects its combine region to yield an f32}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
    %c = arith.cmpf olt, %a, %b : f32
    heddle.yield %c : i1
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects elementwise arithmetic in its combine region, not 'heddle.fill'}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
    %c = heddle.fill 1.0 : f32 : tensor<1xf32>
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects a result of the type 'tensor<4x8xf32>', got 'tensor<6x8xf32>'}}
  %0 = heddle.scores_grad_query %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    heddle.yield %c : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects a result of the type 'tensor<6x8xf32>', got 'tensor<4x8xf32>'}}
  %0 = heddle.scores_grad_key %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    heddle.yield %c : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects its slope region to take an f32 of the query, of the key, of each parameter and the gradient}}
  %0 = heddle.scores_grad_query %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<4xf32>, %h: tensor<4x3x16xf32>, %s: tensor<2xi32>, %r: tensor<2x9xi32>) {
  // expected-error @+1 {{expects heads that divide the width of 'tensor<4x8xf32>', got 'tensor<4x3x16xf32>'}}
  %0 = heddle.scores_grad_query %h of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    heddle.yield %c : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x3x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<5x8xf32>) {
  // expected-error @+1 {{expects a result of the table's rank, got 'tensor<5x8xf32>' and 'tensor<3xf32>'}}
  %0 = heddle.embedding %i, %t : tensor<3xi32>, tensor<5x8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<5x2x16xf32>) {
  // expected-error @+1 {{expects the same width in 'tensor<5x2x16xf32>' (dimension 2) and 'tensor<3x2x8xf32>' (dimension 2)}}
  %0 = heddle.embedding %i, %t : tensor<3xi32>, tensor<5x2x16xf32> -> tensor<3x2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2x16xf32>) {
  // expected-error @+1 {{expects 32 sums of the rows of 'tensor<4x2x16xf32>', got 'tensor<2xf32>'}}
  %0 = heddle.sum rows %x : tensor<4x2x16xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x4xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same width in 'tensor<4x8xf32>' (dimension 1) and 'tensor<6x4xf32>' (dimension 1)}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: tensor<2xi32>, %l: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of sequences in 'tensor<2xi32>' (dimension 0) and 'tensor<3xi32>' (dimension 0)}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %l) combine {
  ^bb0(%a: f32, %b: f32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<3xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its combine region to yield an f32}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
    heddle.yield %a, %b : f32, f32
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

// The gradient of scores has the shape of scores.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %g: tensor<5x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same number of queries in 'tensor<4x8xf32>' (dimension 0) and 'tensor<5x2x16xf32>' (dimension 0)}}
  %0 = heddle.scores_grad_key %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    heddle.yield %c : f32
  } {query_size = "q", key_size = "k"} : (tensor<5x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %w: tensor<4xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same width in 'tensor<4x8xf32>' (dimension 1) and 'tensor<4xf32>' (dimension 0)}}
  %0 = heddle.scores_grad_query %g of %q, %k parameters(%w) queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    heddle.yield %d : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its slope region to take an f32 of the query, of the key, of each parameter and the gradient}}
  %0 = heddle.scores_grad_key %g of %q, %k parameters(%v) queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: i32):
    heddle.yield %a : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its slope region to yield an f32}}
  %0 = heddle.scores_grad_query %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.cmpf olt, %a, %b : f32
    heddle.yield %d : i1
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects elementwise arithmetic in its slope region, not 'heddle.fill'}}
  %0 = heddle.scores_grad_key %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = heddle.fill 1.0 : f32 : tensor<1xf32>
    heddle.yield %c : f32
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x8xf32>
  return
}

// -----

// Without a slope there is no gradient.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects a non-empty block}}
  %0 = heddle.scores_grad_query %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<5xf32>) {
  // expected-error @+1 {{expects the same element type in 'tensor<5xf32>' and 'tensor<3xi32>'}}
  %0 = heddle.embedding %i, %t : tensor<3xi32>, tensor<5xf32> -> tensor<3xi32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<5xi32>) {
  // expected-error @+1 {{expects the same number of rows in 'tensor<3xi32>' (dimension 0) and 'tensor<4xi32>' (dimension 0)}}
  %0 = heddle.embedding %i, %t : tensor<3xi32>, tensor<5xi32> -> tensor<4xi32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<5x2x16xf32>) {
  // expected-error @+1 {{expects the same width in 'tensor<5x2x16xf32>' (dimension 1) and 'tensor<3x4x16xf32>' (dimension 1)}}
  %0 = heddle.embedding %i, %t : tensor<3xi32>, tensor<5x2x16xf32> -> tensor<3x4x16xf32>
  return
}

// -----

func.func @f(%i: tensor<3xi32>, %t: tensor<5x2x4x16xf32>) {
  // expected-error @+1 {{operand #1 must be 1D/2D/3D tensor of 32-bit float or 32-bit signless integer values}}
  %0 = heddle.embedding %i, %t : tensor<3xi32>, tensor<5x2x4x16xf32> -> tensor<3x2x4x16xf32>
  return
}

// -----

// A row of scores is summed head by head, so the number of heads must be known.
func.func @f(%x: tensor<4x?x16xf32, #heddle.dims<"heads">>) {
  // expected-error @+1 {{expects a matrix, a row or a column, got 'tensor<4x?x16xf32, #heddle.dims<"heads">>'}}
  %0 = heddle.sum columns %x : tensor<4x?x16xf32, #heddle.dims<"heads">> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2x16xf32>) {
  // expected-error @+1 {{expects the same remaining extent in 'tensor<4x2x16xf32>' (dimension 0) and 'tensor<2xf32>' (dimension 0)}}
  %0 = heddle.sum columns %x : tensor<4x2x16xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects a non-empty block}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32):
  } {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @f(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %g: tensor<4x2x16xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects a non-empty block}}
  %0 = heddle.scores_grad_query %g of %q, %k queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
  } {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}
