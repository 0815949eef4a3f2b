// Partial sums that heddle-join-sums does not make.
// RUN: heddle-opt %s --heddle-tile='target=cuda:sm_90a' --split-input-file --verify-diagnostics

#rows = #heddle.dims<"rows">
!x = tensor<?x64xbf16, #rows>
!y = tensor<?x1024xf32, #rows>
heddle.size @rows max 16384
func.func @product(%x: !x, %w: tensor<64x1024xbf16>) -> (!y, tensor<64x1024xf32>) {
  // expected-error @+1 {{in kernel 'matmul_sums': a matmul whose workgroups compute several tiles makes 512 x 1024 partial sums of its rows, not 'tensor<64x1024xf32>'}}
  %y, %sums = heddle.kernel "matmul_sums"(%x, %w : !x, tensor<64x1024xbf16>) -> !y, tensor<64x1024xf32> {
  ^bb0(%a: !x, %b: tensor<64x1024xbf16>):
    %product = heddle.matmul %a, %b : !x, tensor<64x1024xbf16> -> !y
    %partial = heddle.partial_sums %product : !y -> tensor<64x1024xf32>
    heddle.yield %product, %partial : !y, tensor<64x1024xf32>
  }
  return %y, %sums : !y, tensor<64x1024xf32>
}

// -----

#tokens = #heddle.dims<"tokens">
!x = tensor<?x128xbf16, #tokens>
!y = tensor<?x128xf32, #tokens>
!heads = tensor<?x2xf32, #tokens>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
!sums = tensor<?x128xf32, #heddle.dims<"sequences">>
heddle.size @tokens max 4096
heddle.size @sequences max 8
heddle.size @length max 500
func.func @attention(%x: !x, %n: !heads, %s: !segments, %l: !segments) -> (!y, !sums) {
  // expected-error @+1 {{sums over attention's rows need a row for each workgroup of a sequence, of up to 500 rows, and have 1 for 64 rows each}}
  %y, %sums = heddle.kernel "attention_grad_query_sums"(%x, %n, %s, %l : !x, !heads, !segments, !segments) -> !y, !sums {
  ^bb0(%a: !x, %b: !heads, %c: !segments, %d: !segments):
    %dq = heddle.attention_grad_query %a, %a, %a gradient %a, %b, %b queries(%c, %d) keys(%c, %d)
      {heads = 2 : i64, scale = 0.125 : f32, query_size = "length", key_size = "length"}
      : (!x, !x, !x, !x, !heads, !heads, !segments, !segments, !segments, !segments) -> !y
    %partial = heddle.partial_sums %dq : !y -> !sums
    heddle.yield %dq, %partial : !y, !sums
  }
  return %y, %sums : !y, !sums
}
