// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0

// CHECK-LABEL: func.func @scan
// CHECK: heddle.scan rows(%{{.*}}) states(%{{.*}}) constants(%{{.*}}) of(%{{.*}}, %{{.*}}) reverse {row_size = "length", step = "step"}
// CHECK: ^bb0(%{{.*}}: tensor<?x8xf32, #heddle.dims<"step">>, %{{.*}}: tensor<?x8xf32, #heddle.dims<"step">>, %{{.*}}: tensor<8x8xf32>):
// Unused rows, constants and outputs are erased, and equal outputs become one.
// CANONICAL-LABEL: func.func @scan
// CANONICAL: %[[R:.*]]:2 = heddle.scan rows(%arg0) states(%arg2) constants(%arg3)
// CANONICAL: heddle.yield %[[H:.*]], %[[H]] :
// CANONICAL: return %[[R]]#1, %[[R]]#1
func.func @scan(%x: tensor<?x8xf32, #tokens>, %unused: tensor<?x4xf32, #tokens>, %h: tensor<?x8xf32, #sequences>,
    %u: tensor<8x8xf32>, %v: tensor<8x8xf32>, %starts: tensor<?xi32, #sequences>, %lengths: tensor<?xi32, #sequences>)
    -> (tensor<?x8xf32, #tokens>, tensor<?x8xf32, #tokens>) {
  %r:4 = heddle.scan rows(%x, %unused) states(%h) constants(%u, %v) of(%starts, %lengths) reverse
      {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #tokens>, tensor<?x4xf32, #tokens>, tensor<?x8xf32, #sequences>, tensor<8x8xf32>, tensor<8x8xf32>,
         tensor<?xi32, #sequences>, tensor<?xi32, #sequences>)
      -> (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>, tensor<?x8xf32, #tokens>, tensor<?x8xf32, #tokens>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %other: tensor<?x4xf32, #step>, %s: tensor<?x8xf32, #step>, %w: tensor<8x8xf32>,
       %z: tensor<8x8xf32>):
    %0 = heddle.matmul %s, %w : tensor<?x8xf32, #step>, tensor<8x8xf32> -> tensor<?x8xf32, #step>
    %1 = arith.addf %now, %0 : tensor<?x8xf32, #step>
    heddle.yield %1, %1, %1, %now : tensor<?x8xf32, #step>, tensor<?x8xf32, #step>, tensor<?x8xf32, #step>, tensor<?x8xf32, #step>
  }
  return %r#1, %r#2 : tensor<?x8xf32, #tokens>, tensor<?x8xf32, #tokens>
}

// CHECK-LABEL: func.func @steps
func.func @steps(%lengths: tensor<?xi32, #sequences>, %starts: tensor<?xi32, #sequences>, %position: tensor<?xi32, #tokens>,
    %sequence: tensor<?xi32, #tokens>, %h0: tensor<?x8xf32, #sequences>, %x: tensor<?x8xf32, #tokens>)
    -> tensor<?x8xf32, #sequences> {
  // CHECK: heddle.step_sizes %{{.*}} {tokens = "tokens"} : tensor<?xi32, #heddle.dims<"sequences">> -> tensor<16xi32>
  %first, %counts = heddle.step_sizes %lengths {tokens = "tokens"} : tensor<?xi32, #sequences> -> tensor<16xi32>
  // CHECK: heddle.rank %{{.*}} : tensor<?xi32, #heddle.dims<"sequences">>
  %rank = heddle.rank %lengths : tensor<?xi32, #sequences>
  // CHECK: heddle.find_first %{{.*}} -> tensor<?xi32, #heddle.dims<"sequences">>
  %order = heddle.find_first %rank : tensor<?xi32, #sequences> -> tensor<?xi32, #sequences>
  // CHECK: heddle.step_order
  %places, %rows = heddle.step_order %position, %sequence steps %first rank %rank order %order starts %starts
      : tensor<?xi32, #tokens>, tensor<16xi32>, tensor<?xi32, #sequences>
  // CHECK: heddle.empty : tensor<?x8xf32, #heddle.dims<"tokens">>
  %empty = heddle.empty : tensor<?x8xf32, #tokens>
  // CHECK: heddle.repeat "length" carried(%{{.*}}, %{{.*}}) constants(%{{.*}}) steps(%{{.*}}, %{{.*}}) {step = "step", tokens = "tokens"}
  %r:2 = heddle.repeat "length" carried(%h0, %empty) constants(%x) steps(%first, %counts) {step = "step", tokens = "tokens"}
      : (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>, tensor<?x8xf32, #tokens>, tensor<16xi32>, tensor<16xi32>)
      -> (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>) {
  ^bb0(%start: tensor<1xi32>, %h: tensor<?x8xf32, #sequences>, %all: tensor<?x8xf32, #tokens>, %in: tensor<?x8xf32, #tokens>):
    // CHECK: heddle.step_rows %{{.*}} at %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">> to tensor<?x8xf32, #heddle.dims<"step">>
    %now = heddle.step_rows %in at %start : tensor<?x8xf32, #tokens> to tensor<?x8xf32, #step>
    // CHECK: heddle.replace_first
    %next = heddle.replace_first %now of %h : tensor<?x8xf32, #step> of tensor<?x8xf32, #sequences>
    // CHECK: heddle.insert_rows
    %more = heddle.insert_rows %now into %all at %start : tensor<?x8xf32, #step> into tensor<?x8xf32, #tokens>
    heddle.yield %next, %more : tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>
  }
  return %r#0 : tensor<?x8xf32, #sequences>
}

// CHECK-LABEL: func.func @columns
// A join of a single part is the part.
// CANONICAL-LABEL: func.func @columns
// CANONICAL: %[[PART:.*]] = heddle.columns
// CANONICAL-NEXT: return %[[PART]]
func.func @columns(%x: tensor<?x8xf32, #tokens>) -> tensor<?x4xf32, #tokens> {
  // CHECK: %[[PART:.*]] = heddle.columns %{{.*}} from 2 : tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<?x4xf32, #heddle.dims<"tokens">>
  %0 = heddle.columns %x from 2 : tensor<?x8xf32, #tokens> -> tensor<?x4xf32, #tokens>
  // CHECK: heddle.join %[[PART]] :
  %1 = heddle.join %0 : tensor<?x4xf32, #tokens> -> tensor<?x4xf32, #tokens>
  return %1 : tensor<?x4xf32, #tokens>
}
