// Ops that depend only on constants leave the scan, one after the other. Ops that need a row or a state stay.
// RUN: heddle-opt %s --heddle-hoist-scans --canonicalize | FileCheck %s

#target = #heddle.dims<"target_tokens">
#source = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @target_tokens max 64
heddle.size @source_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.size @step max 8 of @sequences from 0

!rows = tensor<?x8xf32, #target>
!notes = tensor<?x8xf32, #source>
!state = tensor<?x8xf32, #sequences>
!numbers = tensor<?xi32, #sequences>
!now = tensor<?x8xf32, #step>

// A chain: the matmul, the bias for each row, and their sum. Constants that only these ops read are no longer constants
// of the scan. The matrix still is, because the state's matmul reads it too.
// CHECK-LABEL: func.func @chain
// CHECK: %[[PRODUCT:.*]] = heddle.matmul %arg1, %arg2
// CHECK: %[[BIAS:.*]] = heddle.broadcast %arg3 : tensor<8xf32> to tensor<?x8xf32, #heddle.dims<"source_tokens">>
// CHECK: %[[KEYS:.*]] = arith.addf %[[PRODUCT]], %[[BIAS]]
// CHECK: heddle.scan rows(%arg0) states(%{{.*}}, %arg6, %arg7) constants(%arg2, %[[KEYS]]) of(%arg4, %arg5) {row_size = "target_length", step = "step"}
// CHECK-NOT: heddle.broadcast
// CHECK: heddle.matmul %{{.*}} : tensor<?x8xf32, #heddle.dims<"step">>
// CHECK-NOT: heddle.matmul
// CHECK: heddle.scores
// CHECK: heddle.yield
func.func @chain(%x: !rows, %n: !notes, %w: tensor<8x8xf32>, %b: tensor<8xf32>, %starts: !numbers, %lengths: !numbers, %ks: !numbers,
                 %kl: !numbers) -> tensor<?x1x16xf32, #target> {
  %h0 = heddle.fill 0.0 : f32 : !state
  %last:3, %scores = heddle.scan rows(%x) states(%h0, %ks, %kl) constants(%n, %w, %b) of(%starts, %lengths)
      {row_size = "target_length", step = "step"}
      : (!rows, !state, !numbers, !numbers, !notes, tensor<8x8xf32>, tensor<8xf32>, !numbers, !numbers)
      -> (!state, !numbers, !numbers, tensor<?x1x16xf32, #target>) {
  ^bb0(%now: !now, %h: !now, %s: tensor<?xi32, #step>, %l: tensor<?xi32, #step>, %notes: !notes, %m: tensor<8x8xf32>, %c: tensor<8xf32>):
    %product = heddle.matmul %notes, %m : !notes, tensor<8x8xf32> -> !notes
    %bias = heddle.broadcast %c : tensor<8xf32> to !notes
    %keys = arith.addf %product, %bias : !notes
    %q = heddle.matmul %h, %m : !now, tensor<8x8xf32> -> !now
    %number = heddle.iota : tensor<?xi32, #step>
    %one = heddle.fill 1 : i32 : tensor<?xi32, #step>
    %pairs = heddle.scores %q, %keys queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (!now, !notes, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>) -> tensor<?x1x16xf32, #step>
    %next = arith.addf %now, %h : !now
    heddle.yield %next, %s, %l, %pairs : !now, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?x1x16xf32, #step>
  }
  return %scores : tensor<?x1x16xf32, #target>
}

// A value with a row for each sequence of the step stays in the step, even if it depends only on constants: it has as
// many rows as the step.
// CHECK-LABEL: func.func @of_step
// CHECK-NOT: heddle.broadcast
// CHECK: heddle.scan
// CHECK: heddle.broadcast %{{.*}} : tensor<8xf32> to tensor<?x8xf32, #heddle.dims<"step">>
func.func @of_step(%x: !rows, %b: tensor<8xf32>, %starts: !numbers, %lengths: !numbers) -> !rows {
  %h0 = heddle.fill 0.0 : f32 : !state
  %last, %all = heddle.scan rows(%x) states(%h0) constants(%b) of(%starts, %lengths) {row_size = "target_length", step = "step"}
      : (!rows, !state, tensor<8xf32>, !numbers, !numbers) -> (!state, !rows) {
  ^bb0(%now: !now, %h: !now, %c: tensor<8xf32>):
    %bias = heddle.broadcast %c : tensor<8xf32> to !now
    %sum = arith.addf %h, %bias : !now
    %next = arith.mulf %sum, %now : !now
    heddle.yield %next, %next : !now, !now
  }
  return %all : !rows
}

// A scan that runs backwards still does.
// CHECK-LABEL: func.func @backwards
// CHECK: %[[ROOT:.*]] = math.sqrt %arg1
// CHECK: heddle.scan rows(%arg0) states(%{{.*}}) constants(%[[ROOT]]) of(%arg2, %arg3) reverse {row_size = "target_length", step = "step"}
func.func @backwards(%x: !rows, %b: tensor<8xf32>, %starts: !numbers, %lengths: !numbers) -> !rows {
  %h0 = heddle.fill 0.0 : f32 : !state
  %last, %all = heddle.scan rows(%x) states(%h0) constants(%b) of(%starts, %lengths) reverse {row_size = "target_length", step = "step"}
      : (!rows, !state, tensor<8xf32>, !numbers, !numbers) -> (!state, !rows) {
  ^bb0(%now: !now, %h: !now, %c: tensor<8xf32>):
    %root = math.sqrt %c : tensor<8xf32>
    %bias = heddle.broadcast %root : tensor<8xf32> to !now
    %sum = arith.addf %h, %bias : !now
    %next = arith.mulf %sum, %now : !now
    heddle.yield %next, %next : !now, !now
  }
  return %all : !rows
}
