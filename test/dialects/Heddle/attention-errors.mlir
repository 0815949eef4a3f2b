// RUN: heddle-opt %s --split-input-file --verify-diagnostics

func.func @scores(%q: tensor<4x8xf32>, %k: tensor<6x6xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects keys with a number of heads of 4 columns that divides 2, the number of the queries' heads, got 'tensor<4x8xf32>' and 'tensor<6x6xf32>'}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @scores(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same number of queries in 'tensor<4x8xf32>' (dimension 0) and 'tensor<5x2x16xf32>' (dimension 0)}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<5x2x16xf32>
  return
}

// -----

func.func @scores(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects heads that divide the width of 'tensor<4x8xf32>', got 'tensor<4x3x16xf32>'}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x3x16xf32>
  return
}

// -----

func.func @scores(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects a static number of heads and of keys}}
  %0 = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x?xf32, #heddle.dims<"n">>
  return
}

// -----

func.func @context(%w: tensor<4x2x16xf32>, %v: tensor<6x8xf32>, %s: tensor<2xi32>, %t: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of sequences in 'tensor<2xi32>' (dimension 0) and 'tensor<3xi32>' (dimension 0)}}
  %0 = heddle.context %w, %v queries(%s, %s) keys(%s, %t) {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<6x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @context(%w: tensor<4x2x16xf32>, %v: tensor<6x8xf32>, %s: tensor<2xi32>, %rows: tensor<3x16xi32>) {
  // expected-error @+1 {{expects the same number of sequences in 'tensor<2xi32>' (dimension 0) and 'tensor<3x16xi32>' (dimension 0)}}
  %0 = heddle.context %w, %v rows(%rows) queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<6x8xf32>, tensor<3x16xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @transposed_context(%w: tensor<4x2x16xf32>, %x: tensor<5x8xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects the same number of queries in 'tensor<5x8xf32>' (dimension 0) and 'tensor<4x2x16xf32>' (dimension 0)}}
  %0 = heddle.transposed_context %w, %x queries(%s, %s) keys(%s, %s) {query_size = "q", key_size = "k"} : (tensor<4x2x16xf32>, tensor<5x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @mask(%x: tensor<4x2x16xf32>, %p: tensor<5xi32>, %l: tensor<2xi32>) {
  // expected-error @+1 {{expects the same number of queries in 'tensor<4x2x16xf32>' (dimension 0) and 'tensor<5xi32>' (dimension 0)}}
  %0 = heddle.mask %x at(%p, %p) keys(%l) {value = 0.0 : f32} : tensor<4x2x16xf32>, tensor<5xi32>, tensor<2xi32>
  return
}

// -----

func.func @mask(%x: tensor<4x2x16xf32>, %p: tensor<4xi32>, %l: tensor<2xi32>) {
  // expected-error @+1 {{expects its mask region to take two i32: query index and key index}}
  %0 = heddle.mask %x at(%p, %p) keys(%l) mask {
  ^bb0(%query: i32):
    %yes = arith.constant true
    heddle.yield %yes : i1
  } {value = 0.0 : f32} : tensor<4x2x16xf32>, tensor<4xi32>, tensor<2xi32>
  return
}

// -----

func.func @mask(%x: tensor<4x2x16xf32>, %p: tensor<4xi32>, %l: tensor<2xi32>) {
  // expected-error @+1 {{expects its mask region to yield an i1}}
  %0 = heddle.mask %x at(%p, %p) keys(%l) mask {
  ^bb0(%query: i32, %key: i32):
    heddle.yield %query : i32
  } {value = 0.0 : f32} : tensor<4x2x16xf32>, tensor<4xi32>, tensor<2xi32>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{expects dimension 1 or 2 of 'tensor<4x2x16xi32>', got 0}}
  %0 = heddle.iota : tensor<4x2x16xi32>
  return
}

// -----

func.func @broadcast(%row: tensor<2xf32>) {
  // expected-error @+1 {{cannot repeat 'tensor<2xf32>' over 'tensor<4x2x16xf32>'}}
  %0 = heddle.broadcast %row : tensor<2xf32> to tensor<4x2x16xf32>
  return
}

// -----

!segments = tensor<2xi32>
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<6x12xf32>, %s: !segments) {
  // expected-error @+1 {{expects keys with a number of heads of 4 columns that divides 2, the number of the queries' heads}}
  %0:2 = heddle.attention %q, %k, %k queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<6x12xf32>, tensor<6x12xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x8xf32>, tensor<4x2xf32>)
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

!segments = tensor<4xi32>
func.func @parts(%q: tensor<4x8xf32>, %k: tensor<64x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects parts of at least one key, and a result with the query's columns for each part}}
  %0:2 = heddle.attention %q, %k, %k queries(%s, %s) keys(%s, %s) {heads = 2 : i64, part_keys = 32 : i64, scale = 1.0 : f32, query_size = "", key_size = "k"}
    : (tensor<4x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x12xf32>, tensor<4x4xf32>)
  return
}

// -----

!segments = tensor<4xi32>
func.func @parts(%q: tensor<4x8xf32>, %k: tensor<64x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects log_sum_exp to have a row for each of 'tensor<4x8xf32>' and 4 columns, got 'tensor<4x2xf32>'}}
  %0:2 = heddle.attention %q, %k, %k queries(%s, %s) keys(%s, %s) {heads = 2 : i64, part_keys = 32 : i64, scale = 1.0 : f32, query_size = "", key_size = "k"}
    : (tensor<4x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x16xf32>, tensor<4x2xf32>)
  return
}

// -----

!segments = tensor<4xi32>
func.func @parts(%q: tensor<4x8xf32>, %k: tensor<64x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects one query for each sequence, and neither a sink nor dropout nor a mask, if its keys are in parts}}
  %0:2 = heddle.attention %q, %k, %k queries(%s, %s) keys(%s, %s) {heads = 2 : i64, part_keys = 32 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"}
    : (tensor<4x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x16xf32>, tensor<4x4xf32>)
  return
}

// -----

!segments = tensor<4xi32>
func.func @parts(%q: tensor<4x8xf32>, %k: tensor<64x8xf32>, %s: !segments) {
  // expected-error @+1 {{expects scores that depend on no index if its keys are in parts}}
  %0:2 = heddle.attention %q, %k, %k queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %far = arith.sitofp %key : i32 to f32
    %biased = arith.addf %score, %far : f32
    heddle.yield %biased : f32
  } {heads = 2 : i64, part_keys = 32 : i64, scale = 1.0 : f32, query_size = "", key_size = "k"}
    : (tensor<4x8xf32>, tensor<64x8xf32>, tensor<64x8xf32>, !segments, !segments, !segments, !segments) -> (tensor<4x16xf32>, tensor<4x4xf32>)
  return
}

// -----

!segments = tensor<4xi32>
func.func @merge(%parts: tensor<4x16xf32>, %lse: tensor<4x4xf32>, %s: !segments) {
  // expected-error @+1 {{expects heads that divide the columns of 'tensor<4x6xf32>', and these columns for each part of 'tensor<4x16xf32>'}}
  %0 = heddle.merge_parts %parts, %lse queries(%s, %s) keys(%s) {heads = 2 : i64, part_keys = 32 : i64}
    : (tensor<4x16xf32>, tensor<4x4xf32>, !segments, !segments, !segments) -> tensor<4x6xf32>
  return
}

// -----

!segments = tensor<4xi32>
func.func @merge(%parts: tensor<4x16xf32>, %lse: tensor<4x2xf32>, %s: !segments) {
  // expected-error @+1 {{expects log_sum_exp to have a row for each of 'tensor<4x8xf32>' and 4 columns, got 'tensor<4x2xf32>'}}
  %0 = heddle.merge_parts %parts, %lse queries(%s, %s) keys(%s) {heads = 2 : i64, part_keys = 32 : i64}
    : (tensor<4x16xf32>, tensor<4x2xf32>, !segments, !segments, !segments) -> tensor<4x8xf32>
  return
}

// -----

!segments = tensor<4xi32>
func.func @merge(%parts: tensor<4x16xf32>, %lse: tensor<4x4xf32>, %s: !segments, %other: tensor<3xi32>) {
  // expected-error @+1 {{expects the same number of sequences}}
  %0 = heddle.merge_parts %parts, %lse queries(%s, %s) keys(%other) {heads = 2 : i64, part_keys = 32 : i64}
    : (tensor<4x16xf32>, tensor<4x4xf32>, !segments, !segments, tensor<3xi32>) -> tensor<4x8xf32>
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

func.func @rows(%x: tensor<4x8xf32>, %s: tensor<2xi32>, %rows: tensor<2x?xi32, #heddle.dims<"n">>) {
  // expected-error @+1 {{expects a static number of columns}}
  %0 = heddle.scores %x, %x rows(%rows) queries(%s, %s) keys(%s, %s) {query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x?xi32, #heddle.dims<"n">>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  return
}

// -----

func.func @score_arguments(%x: tensor<4x8xf32>, %p: tensor<4x2xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its score region to take an f32 and three i32: scaled score, query index, key index, head}}
  %0:2 = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32):
    heddle.yield %score : f32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @score_result(%x: tensor<4x8xf32>, %p: tensor<4x2xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its score region to yield an f32}}
  %0:2 = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    heddle.yield %head : i32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @score_arithmetic(%x: tensor<4x8xf32>, %p: tensor<4x2xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects elementwise arithmetic in its score region, not 'heddle.fill'}}
  %0:2 = heddle.attention %x, %x, %x queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    %t = heddle.fill 1.0 : f32 : tensor<1xf32>
    heddle.yield %score : f32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}

// -----

func.func @score_without_gradient(%x: tensor<4x8xf32>, %p: tensor<4x2xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its score_gradient region to take an f32 and three i32: scaled score, query index, key index, head, and an f32: the gradient}}
  %0 = heddle.attention_grad_query %x, %x, %x gradient %x, %p, %p queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    heddle.yield %score : f32
  } score_gradient {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    heddle.yield %score : f32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @score_gradient_result(%x: tensor<4x8xf32>, %p: tensor<4x2xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects its score_gradient region to yield an f32}}
  %0 = heddle.attention_grad_query %x, %x, %x gradient %x, %p, %p queries(%s, %s) keys(%s, %s) score {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    heddle.yield %score : f32
  } score_gradient {
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32, %gradient: f32):
    heddle.yield %key : i32
  } {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = ""}
    : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @score_alone(%x: tensor<4x8xf32>, %p: tensor<4x2xf32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{expects a score_gradient region if and only if there is a score region}}
  %0 = "heddle.attention_grad_query"(%x, %x, %x, %x, %p, %p, %s, %s, %s, %s) <{heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = "", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0>}> ({
  ^bb0(%score: f32, %query: i32, %key: i32, %head: i32):
    heddle.yield %score : f32
  }, {
  }, {
  }) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @softmax(%x: tensor<4x2x16xf32>, %sink: tensor<3xf32>) {
  // expected-error @+1 {{expects a sink for each of 2 heads, got 'tensor<3xf32>'}}
  %0 = heddle.softmax %x sink(%sink : tensor<3xf32>) : tensor<4x2x16xf32>
  return
}

// -----

func.func @attention(%q: tensor<4x8xf32>, %s: tensor<2xi32>, %sink: tensor<8xf32>) {
  // expected-error @+1 {{expects a sink for each of 2 heads, got 'tensor<8xf32>'}}
  %0:2 = heddle.attention %q, %q, %q sink(%sink) queries(%s, %s) keys(%s, %s) {heads = 2 : i64, scale = 1.0 : f32, query_size = "q", key_size = "k"} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<4x8xf32>, tensor<4x2xf32>)
  return
}
