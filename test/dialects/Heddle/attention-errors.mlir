// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @split_heads(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects tensor<HxTxD> and tensor<Tx(H*D)>, got 'tensor<2x4x8xf32>' and 'tensor<4x8xf32>'}}
  %0 = heddle.split_heads %x : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @merge_heads(%x: tensor<2x4x4xf32>) {
  // expected-error @+1 {{expects tensor<HxTxD> and tensor<Tx(H*D)>, got 'tensor<2x4x4xf32>' and 'tensor<2x8xf32>'}}
  %0 = heddle.merge_heads %x : tensor<2x4x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @batch_matmul(%a: tensor<2x4x8xf32>, %b: tensor<3x8x4xf32>) {
  // expected-error @+1 {{expects the same number of heads}}
  %0 = heddle.batch_matmul %a, %b : tensor<2x4x8xf32>, tensor<3x8x4xf32> -> tensor<2x4x4xf32>
  return
}

// -----

func.func @batch_matmul(%a: tensor<2x4x8xf32>, %b: tensor<2x8x6xf32>) {
  // expected-error @+1 {{expects the same contracted extent}}
  %0 = heddle.batch_matmul %a, %b {transpose_rhs} : tensor<2x4x8xf32>, tensor<2x8x6xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @batch_matmul(%a: tensor<2x4x8xf32>, %b: tensor<2x8x6xf32>) {
  // expected-error @+1 {{expects the same number of rows}}
  %0 = heddle.batch_matmul %a, %b : tensor<2x4x8xf32>, tensor<2x8x6xf32> -> tensor<2x5x6xf32>
  return
}

// -----

func.func @batch_matmul(%a: tensor<2x4x8xf32>, %b: tensor<2x8x6xf32>) {
  // expected-error @+1 {{expects the same number of columns}}
  %0 = heddle.batch_matmul %a, %b : tensor<2x4x8xf32>, tensor<2x8x6xf32> -> tensor<2x4x8xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @mask(%x: tensor<2x4x4xf32>, %s: !segments) {
  // expected-error @+1 {{expects its mask region to take two i32: query index and key index}}
  %0 = heddle.mask %x queries(%s, %s) keys(%s, %s) mask {
  ^bb0(%query: i32):
    %yes = arith.constant true
    heddle.yield %yes : i1
  } {query_size = "q", key_size = "k"} : (tensor<2x4x4xf32>, !segments, !segments, !segments, !segments) -> tensor<2x4x4xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @mask(%x: tensor<2x4x4xf32>, %s: !segments) {
  // expected-error @+1 {{expects its mask region to yield one i1}}
  %0 = heddle.mask %x queries(%s, %s) keys(%s, %s) mask {
  ^bb0(%query: i32, %key: i32):
    heddle.yield %query : i32
  } {query_size = "q", key_size = "k"} : (tensor<2x4x4xf32>, !segments, !segments, !segments, !segments) -> tensor<2x4x4xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<6x4xf32>, %s: !segments) {
  // expected-error @+1 {{expects the same width}}
  %0:2 = heddle.attention %q, %k, %k queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x4xf32>, tensor<6x4xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects the same number of keys}}
  %0:2 = heddle.attention %q, %k, %q queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects 'heads' to divide the width 8, got 3}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) {heads = 3 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x3xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments, %t: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of sequences}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %t) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, tensor<3xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects seed and step if and only if 'dropout' is above 0}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, dropout = 0.1 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments, %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // expected-error @+1 {{expects 'dropout' in [0, 1), got 1}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) dropout(%seed, %step) {heads = 2 : i64, scale = 1.0 : f32, dropout = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments, tensor<2xi32>, tensor<1xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects its mask region to take two i32}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) mask {
    %yes = arith.constant true
    heddle.yield %yes : i1
  } {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects a result of the query's type 'tensor<4x8xf32>', got 'tensor<5x8xf32>'}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<5x8xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects log_sum_exp to have a row for each of 'tensor<4x8xf32>' and 2 columns, got 'tensor<4x4xf32>'}}
  %0:2 = heddle.attention %q, %q, %q queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @attention_delta(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a number of heads that divides the width of 'tensor<4x8xf32>', got 3}}
  %0 = heddle.attention_delta %x, %x : tensor<4x8xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @attention_delta(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expects the result to have a row for each of 'tensor<4x8xf32>' and 2 columns, got 'tensor<5x2xf32>'}}
  %0 = heddle.attention_delta %x, %x : tensor<4x8xf32> -> tensor<5x2xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @gradient(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %p: tensor<4x2xf32>, %s: !segments) {
  // expected-error @+1 {{expects the gradient to be of the query's type 'tensor<4x8xf32>', got 'tensor<6x8xf32>'}}
  %0 = heddle.attention_grad_query %q, %k, %k gradient %k, %p, %p queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>, !segments, !segments, !segments, !segments) -> tensor<4x8xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @gradient(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %p: tensor<4x2xf32>, %d: tensor<4x4xf32>, %s: !segments) {
  // expected-error @+1 {{expects delta to have a row for each of 'tensor<4x8xf32>' and 2 columns, got 'tensor<4x4xf32>'}}
  %0 = heddle.attention_grad_query %q, %k, %k gradient %q, %p, %d queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x4xf32>, !segments, !segments, !segments, !segments) -> tensor<4x8xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @gradient(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %p: tensor<4x2xf32>, %s: !segments) {
  // expected-error @+1 {{expects a result of the query's type}}
  %0 = heddle.attention_grad_query %q, %k, %k gradient %q, %p, %p queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>, !segments, !segments, !segments, !segments) -> tensor<6x8xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @gradient(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %p: tensor<4x2xf32>, %s: !segments) {
  // expected-error @+1 {{expects results of the key's type}}
  %0:2 = heddle.attention_grad_key_value %q, %k, %k gradient %q, %p, %p queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>, !segments, !segments, !segments, !segments) -> (tensor<6x8xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @rows(%x: tensor<4x8xf32>, %s: tensor<2xi32>, %rows: tensor<3x16xi32>) {
  // expected-error @+1 {{expects the same number of sequences in 'tensor<2xi32>' (dimension 0) and 'tensor<3x16xi32>' (dimension 0)}}
  %o, %lse = heddle.attention %x, %x, %x rows(%rows) queries(%s, %s) keys(%s, %s)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<3x16xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @rows(%x: tensor<2x4x4xf32>, %s: tensor<2xi32>, %rows: tensor<2x?xi32, #heddle.dims<"n">>) {
  // expected-error @+1 {{expects a static number of columns}}
  %0 = heddle.mask %x queries(%s, %s) keys(%s, %s) rows(%rows) {query_size = "", key_size = ""}
    : (tensor<2x4x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x?xi32, #heddle.dims<"n">>) -> tensor<2x4x4xf32>
  return
}
