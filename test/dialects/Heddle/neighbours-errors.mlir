// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @number(%w: tensor<4x2x16xf32>, %x: tensor<4x8xf32>, %u: tensor<6x12xi32>, %s: tensor<4xi32>) {
  // expected-error @+1 {{expects users as rows of queries and numbers of keys, matrices of i32, and their number, a vector of i32}}
  %0 = heddle.transposed_context %w, %x users(%u, %u) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @ofFloats(%w: tensor<4x2x16xf32>, %x: tensor<4x8xf32>, %u: tensor<6x12xf32>, %c: tensor<6xi32>, %s: tensor<4xi32>) {
  // expected-error @+1 {{expects users as rows of queries and numbers of keys, matrices of i32, and their number, a vector of i32}}
  %0 = heddle.transposed_context %w, %x users(%u, %u, %c) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @notAlone(%w: tensor<4x2x16xf32>, %x: tensor<4x8xf32>, %u: tensor<6x12xi32>, %c: tensor<6xi32>, %s: tensor<4xi32>) {
  // expected-error @+1 {{expects queries that are alone in their sequences where keys have users, but their sequences are as long as 'length'}}
  %0 = heddle.transposed_context %w, %x users(%u, %u, %c) queries(%s, %s) keys(%s, %s) {query_size = "length", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x12xi32>, tensor<6x12xi32>, tensor<6xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @lists(%w: tensor<4x2x16xf32>, %x: tensor<4x8xf32>, %u: tensor<6x12xi32>, %v: tensor<6x11xi32>, %c: tensor<6xi32>, %s: tensor<4xi32>) {
  // expected-error @+1 {{number of users}}
  %0 = heddle.transposed_context %w, %x users(%u, %v, %c) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x12xi32>, tensor<6x11xi32>, tensor<6xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @rows(%g: tensor<4x2x16xf32>, %q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %u: tensor<5x12xi32>, %c: tensor<5xi32>, %s: tensor<4xi32>) {
  // expected-error @+1 {{number of rows of keys}}
  %0 = heddle.scores_grad_key %g of %q, %k users(%u, %u, %c) queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %d: f32):
    heddle.yield %d : f32
  } {query_size = "", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<5x12xi32>, tensor<5x12xi32>, tensor<5xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @keyRows(%g: tensor<4x2x16xf32>, %q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %r: tensor<3x12xi32>, %s: tensor<4xi32>) {
  // expected-error @+1 {{number of sequences}}
  %0 = heddle.scores_grad_query %g of %q, %k rows(%r) queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %d: f32):
    heddle.yield %d : f32
  } {query_size = "", key_size = "k"} : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<3x12xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4x8xf32>
  return
}
