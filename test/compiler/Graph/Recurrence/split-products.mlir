// A matmul of joined columns: the part with known columns, and the bias, are computed for all tokens at once.
// RUN: heddle-opt %s --heddle-hoist-scans --canonicalize | FileCheck %s

#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0
!now = tensor<?x8xf32, #step>
!all = tensor<?x8xf32, #tokens>
!states = tensor<?x8xf32, #sequences>
!numbers = tensor<?xi32, #sequences>

// CHECK-LABEL: func.func @cell
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"tokens">>, %[[S:[a-z0-9]+]]: {{.*}}, %[[L:[a-z0-9]+]]: {{.*}}, %[[W:[a-z0-9]+]]: tensor<16x8xf32>, %[[B:[a-z0-9]+]]: tensor<8xf32>
// CHECK-DAG: %[[KNOWN:.*]] = heddle.slice %[[W]] from 0 : tensor<16x8xf32> to tensor<8x8xf32>
// CHECK-DAG: %[[OTHER:.*]] = heddle.slice %[[W]] from 8 : tensor<16x8xf32> to tensor<8x8xf32>
// CHECK: %[[PRODUCT:.*]] = heddle.matmul %[[X]], %[[KNOWN]] : tensor<?x8xf32, #heddle.dims<"tokens">>
// CHECK: %[[BIAS:.*]] = heddle.broadcast %[[B]]
// CHECK: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %[[BIAS]]
// CHECK: heddle.scan rows({{.*}}%[[SUM]]) states(%{{.*}}) constants(%[[OTHER]])
// CHECK: ^bb0({{.*}}%[[NOW:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"step">>, %[[H:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"step">>, %[[U:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: %[[STEP:.*]] = heddle.matmul %[[H]], %[[U]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[STEP]], %[[NOW]]
// CHECK-NEXT: heddle.yield %[[NEXT]], %[[NEXT]]
func.func @cell(%x: !all, %starts: !numbers, %lengths: !numbers, %w: tensor<16x8xf32>, %b: tensor<8xf32>) -> !all {
  %h0 = heddle.fill 0.0 : f32 : !states
  %last, %states = heddle.scan rows(%x) states(%h0) constants(%w, %b) of(%starts, %lengths) {row_size = "length", step = "step"}
      : (!all, !states, tensor<16x8xf32>, tensor<8xf32>, !numbers, !numbers) -> (!states, !all) {
  ^bb0(%now: !now, %h: !now, %weight: tensor<16x8xf32>, %bias: tensor<8xf32>):
    %both = heddle.join %now, %h : !now, !now -> tensor<?x16xf32, #step>
    %product = heddle.matmul %both, %weight : tensor<?x16xf32, #step>, tensor<16x8xf32> -> !now
    %wide = heddle.broadcast %bias : tensor<8xf32> to !now
    %next = arith.addf %product, %wide : !now
    heddle.yield %next, %next : !now, !now
  }
  return %states : !all
}

// If both sides have known columns, two matmuls come before the scan, and one stays in the step.
// CHECK-LABEL: func.func @around
// CHECK-COUNT-2: heddle.matmul {{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">>, tensor<8x8xf32>
// CHECK: arith.addf
// CHECK: heddle.scan
// CHECK-COUNT-1: heddle.matmul
// CHECK-NOT: heddle.matmul
// CHECK: heddle.yield
func.func @around(%x: !all, %starts: !numbers, %lengths: !numbers, %w: tensor<24x8xf32>) -> !all {
  %h0 = heddle.fill 0.0 : f32 : !states
  %last, %states = heddle.scan rows(%x) states(%h0) constants(%w) of(%starts, %lengths) {row_size = "length", step = "step"}
      : (!all, !states, tensor<24x8xf32>, !numbers, !numbers) -> (!states, !all) {
  ^bb0(%now: !now, %h: !now, %weight: tensor<24x8xf32>):
    %three = heddle.join %now, %h, %now : !now, !now, !now -> tensor<?x24xf32, #step>
    %next = heddle.matmul %three, %weight : tensor<?x24xf32, #step>, tensor<24x8xf32> -> !now
    heddle.yield %next, %next : !now, !now
  }
  return %states : !all
}

// The step would get two matmuls instead of one, so this matmul stays.
// CHECK-LABEL: func.func @between
// CHECK-NOT: heddle.slice
// CHECK: heddle.scan
// CHECK: heddle.matmul {{.*}} : tensor<?x24xf32, #heddle.dims<"step">>
func.func @between(%x: !all, %starts: !numbers, %lengths: !numbers, %w: tensor<24x8xf32>) -> !all {
  %h0 = heddle.fill 0.0 : f32 : !states
  %last, %states = heddle.scan rows(%x) states(%h0) constants(%w) of(%starts, %lengths) {row_size = "length", step = "step"}
      : (!all, !states, tensor<24x8xf32>, !numbers, !numbers) -> (!states, !all) {
  ^bb0(%now: !now, %h: !now, %weight: tensor<24x8xf32>):
    %three = heddle.join %h, %now, %h : !now, !now, !now -> tensor<?x24xf32, #step>
    %next = heddle.matmul %three, %weight : tensor<?x24xf32, #step>, tensor<24x8xf32> -> !now
    heddle.yield %next, %next : !now, !now
  }
  return %states : !all
}
