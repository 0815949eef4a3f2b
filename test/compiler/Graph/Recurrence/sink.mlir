// RUN: heddle-opt %s --heddle-hoist-scans | FileCheck %s

#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0

// No state needs the second matmul: it reads outputs, so it is computed for all tokens at once, and so is its tanh. The
// matmul for the state stays, and so does arithmetic without a matmul, which costs a step nothing.
// CHECK-LABEL: func.func @output
// CHECK: %[[SCAN:.*]]:4 = heddle.scan rows(%arg0) states(%arg1) constants(%arg2, %arg3)
// CHECK: ^bb0(%[[X:[a-z0-9]+]]: {{.*}}, %[[H:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"step">>, %[[W:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK: %[[HW:.*]] = heddle.matmul %[[H]], %[[W]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[X]], %[[HW]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[NEXT]], %[[NEXT]]
// CHECK-NOT: heddle.matmul
// CHECK: heddle.yield %[[NEXT]], %[[SQUARE]], %[[NEXT]], %[[H]]
// CHECK: %[[Y:.*]] = heddle.matmul %[[SCAN]]#2, %arg3 : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8x4xf32>
// CHECK: %[[Z:.*]] = math.tanh %[[Y]]
// CHECK: %[[V:.*]] = heddle.matmul %[[SCAN]]#3, %arg3
// CHECK: %[[SUM:.*]] = arith.addf %[[Z]], %[[V]]
// CHECK: return %[[SCAN]]#0, %[[SUM]], %[[SCAN]]#1
func.func @output(%x: tensor<?x8xf32, #tokens>, %h0: tensor<?x8xf32, #sequences>, %u: tensor<8x8xf32>, %v: tensor<8x4xf32>,
                  %starts: tensor<?xi32, #sequences>, %lengths: tensor<?xi32, #sequences>)
    -> (tensor<?x8xf32, #sequences>, tensor<?x4xf32, #tokens>, tensor<?x8xf32, #tokens>) {
  %last, %all, %squares = heddle.scan rows(%x) states(%h0) constants(%u, %v) of(%starts, %lengths)
      {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #tokens>, tensor<?x8xf32, #sequences>, tensor<8x8xf32>, tensor<8x4xf32>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>) -> (tensor<?x8xf32, #sequences>, tensor<?x4xf32, #tokens>, tensor<?x8xf32, #tokens>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %h: tensor<?x8xf32, #step>, %w: tensor<8x8xf32>, %o: tensor<8x4xf32>):
    %0 = heddle.matmul %h, %w : tensor<?x8xf32, #step>, tensor<8x8xf32> -> tensor<?x8xf32, #step>
    %1 = arith.addf %now, %0 : tensor<?x8xf32, #step>
    %2 = heddle.matmul %1, %o : tensor<?x8xf32, #step>, tensor<8x4xf32> -> tensor<?x4xf32, #step>
    %3 = math.tanh %2 : tensor<?x4xf32, #step>
    %4 = heddle.matmul %h, %o : tensor<?x8xf32, #step>, tensor<8x4xf32> -> tensor<?x4xf32, #step>
    %5 = arith.addf %3, %4 : tensor<?x4xf32, #step>
    %6 = arith.mulf %1, %1 : tensor<?x8xf32, #step>
    heddle.yield %1, %5, %6 : tensor<?x8xf32, #step>, tensor<?x4xf32, #step>, tensor<?x8xf32, #step>
  }
  return %last, %all, %squares : tensor<?x8xf32, #sequences>, tensor<?x4xf32, #tokens>, tensor<?x8xf32, #tokens>
}
