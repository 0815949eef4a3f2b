// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// Scores computed by a region, their gradients, and the ops that belong to them.
!queries = tensor<?x8xf32, #heddle.dims<"target">>
!keys = tensor<?x8xf32, #heddle.dims<"source">>
!scores = tensor<?x2x16xf32, #heddle.dims<"target">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>

// CHECK-LABEL: func.func @additive
func.func @additive(%q: !queries, %k: !keys, %v: tensor<8xf32>, %qs: !segments, %ql: !segments, %ks: !segments, %kl: !segments) {
  // CHECK: %[[S:.*]] = heddle.scores %[[Q:.*]], %[[K:.*]] parameters(%[[V:.*]]) queries(%[[QS:.*]], %[[QL:.*]]) keys(%[[KS:.*]], %[[KL:.*]]) combine {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
  // CHECK: heddle.yield %{{.*}} : f32
  // CHECK-NEXT: } {key_size = "source_length", query_size = "target_length"}
  %s = heddle.scores %q, %k parameters(%v) queries(%qs, %ql) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32, %w: f32):
    %0 = arith.addf %a, %b : f32
    %1 = math.tanh %0 : f32
    %2 = arith.mulf %1, %w : f32
    heddle.yield %2 : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (!queries, !keys, tensor<8xf32>, !segments, !segments, !segments, !segments) -> !scores
  // CHECK: heddle.scores %[[Q]], %[[K]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) combine {
  %t = heddle.scores %q, %k queries(%qs, %ql) keys(%ks, %kl) combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.subf %a, %b : f32
    heddle.yield %0 : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (!queries, !keys, !segments, !segments, !segments, !segments) -> !scores
  // CHECK: heddle.scores_grad_query %[[S]] of %[[Q]], %[[K]] parameters(%[[V]]) queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) slope {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %[[G:.*]]: f32):
  // CHECK-NEXT: heddle.yield %[[G]] : f32
  %dq = heddle.scores_grad_query %s of %q, %k parameters(%v) queries(%qs, %ql) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %w: f32, %g: f32):
    heddle.yield %g : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (!scores, !queries, !keys, tensor<8xf32>, !segments, !segments, !segments, !segments) -> !queries
  // CHECK: heddle.scores_grad_key %[[S]] of %[[Q]], %[[K]] queries(%[[QS]], %[[QL]]) keys(%[[KS]], %[[KL]]) slope {
  %dk = heddle.scores_grad_key %s of %q, %k queries(%qs, %ql) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %g: f32):
    heddle.yield %g : f32
  } {query_size = "target_length", key_size = "source_length"}
    : (!scores, !queries, !keys, !segments, !segments, !segments, !segments) -> !keys
  // CHECK: heddle.sum columns %[[S]] : tensor<?x2x16xf32, #heddle.dims<"target">> -> tensor<?xf32, #heddle.dims<"target">>
  %sum = heddle.sum columns %s : !scores -> tensor<?xf32, #heddle.dims<"target">>
  // CHECK: heddle.embedding %[[QS]], %[[KL]] : tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">> -> tensor<?xi32, #heddle.dims<"sequences">>
  %n = heddle.embedding %qs, %kl : !segments, !segments -> !segments
  // CHECK: heddle.embedding %[[QS]], %[[S]] : tensor<?xi32, #heddle.dims<"sequences">>, tensor<?x2x16xf32, #heddle.dims<"target">> -> tensor<?x2x16xf32, #heddle.dims<"sequences">>
  %m = heddle.embedding %qs, %s : !segments, !scores -> tensor<?x2x16xf32, #heddle.dims<"sequences">>
  return
}

// The same on static tensors, with several parameters, and with a region that reads neither query nor key.
// CHECK-LABEL: func.func @several
func.func @several(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<8xf32>, %w: tensor<8xf32>, %s: tensor<2xi32>) {
  // CHECK: %[[S:.*]] = heddle.scores %{{.*}}, %{{.*}} parameters(%[[V:.*]], %[[W:.*]]) queries
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[A]], %[[B]] : f32
  // CHECK-NEXT: heddle.yield %[[PRODUCT]] : f32
  %0 = heddle.scores %q, %k parameters(%v, %w) queries(%s, %s) keys(%s, %s) combine {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %1 = arith.mulf %c, %d : f32
    heddle.yield %1 : f32
  } {query_size = "n", key_size = "n"}
    : (tensor<4x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x2x16xf32>
  // CHECK: heddle.scores_grad_key %[[S]] of %{{.*}}, %{{.*}} parameters(%[[V]], %[[W]]) queries
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
  %2 = heddle.scores_grad_key %0 of %q, %k parameters(%v, %w) queries(%s, %s) keys(%s, %s) slope {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %g: f32):
    %1 = arith.constant 0.0 : f32
    heddle.yield %1 : f32
  } {query_size = "n", key_size = "n"}
    : (tensor<4x2x16xf32>, tensor<4x8xf32>, tensor<6x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<6x8xf32>
  // CHECK: heddle.sum columns %[[S]] : tensor<4x2x16xf32> -> tensor<4xf32>
  %3 = heddle.sum columns %0 : tensor<4x2x16xf32> -> tensor<4xf32>
  // CHECK: %[[N:.*]] = heddle.embedding %{{.*}}, %{{.*}} : tensor<2xi32>, tensor<8xf32> -> tensor<2xf32>
  %4 = heddle.embedding %s, %v : tensor<2xi32>, tensor<8xf32> -> tensor<2xf32>
  // CHECK: heddle.embedding %{{.*}}, %[[S]] : tensor<2xi32>, tensor<4x2x16xf32> -> tensor<2x2x16xf32>
  %5 = heddle.embedding %s, %0 : tensor<2xi32>, tensor<4x2x16xf32> -> tensor<2x2x16xf32>
  return
}
