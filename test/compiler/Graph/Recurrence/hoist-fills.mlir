// A constant is a fill without operands, so ops on constants and numbers only also leave the scan. Their operands are
// then no longer constants of the scan, so that nothing after this pass keeps them alive.
// RUN: heddle-opt %s --heddle-hoist-scans | FileCheck %s

#target = #heddle.dims<"target_tokens">
#source = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @target_tokens max 64
heddle.size @source_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.size @step max 8 of @sequences from 0

// CHECK-LABEL: func.func @twice
// CHECK: %[[TWO:.*]] = heddle.fill 2.000000e+00 : f32 : tensor<?x8xf32, #heddle.dims<"source_tokens">>
// CHECK: %[[TWICE:.*]] = arith.mulf %arg1, %[[TWO]]
// CHECK: %[[ROOT:.*]] = math.sqrt %[[TWICE]]
// CHECK: heddle.scan rows(%arg0) states(%{{.*}}, %arg4, %arg5) constants(%[[ROOT]]) of(%arg2, %arg3)
// CHECK-NOT: arith.mulf
// CHECK: heddle.scores
// CHECK: heddle.yield
func.func @twice(%x: tensor<?x8xf32, #target>, %n: tensor<?x8xf32, #source>, %starts: tensor<?xi32, #sequences>,
                 %lengths: tensor<?xi32, #sequences>, %ks: tensor<?xi32, #sequences>, %kl: tensor<?xi32, #sequences>)
    -> tensor<?x1x16xf32, #target> {
  %h0 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #sequences>
  %last:3, %scores = heddle.scan rows(%x) states(%h0, %ks, %kl) constants(%n) of(%starts, %lengths)
      {row_size = "target_length", step = "step"}
      : (tensor<?x8xf32, #target>, tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>,
         tensor<?x8xf32, #source>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>)
      -> (tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?x1x16xf32, #target>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %h: tensor<?x8xf32, #step>, %s: tensor<?xi32, #step>, %l: tensor<?xi32, #step>,
       %notes: tensor<?x8xf32, #source>):
    %two = heddle.fill 2.0 : f32 : tensor<?x8xf32, #source>
    %product = arith.mulf %notes, %two : tensor<?x8xf32, #source>
    %keys = math.sqrt %product : tensor<?x8xf32, #source>
    %number = heddle.iota : tensor<?xi32, #step>
    %one = heddle.fill 1 : i32 : tensor<?xi32, #step>
    %pairs = heddle.scores %h, %keys queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x8xf32, #step>, tensor<?x8xf32, #source>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>,
           tensor<?xi32, #step>) -> tensor<?x1x16xf32, #step>
    %next = arith.addf %now, %h : tensor<?x8xf32, #step>
    heddle.yield %next, %s, %l, %pairs : tensor<?x8xf32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?x1x16xf32, #step>
  }
  return %scores : tensor<?x1x16xf32, #target>
}
