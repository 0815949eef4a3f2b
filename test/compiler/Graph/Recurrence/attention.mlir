// RUN: heddle-opt %s --heddle-hoist-scans --canonicalize | FileCheck %s --check-prefix=HOIST
// RUN: heddle-opt %s --heddle-hoist-scans --heddle-lower-scans | FileCheck %s --check-prefix=LOWER
// RUN: heddle-opt %s --heddle-hoist-scans --heddle-lower-scans --heddle-fuse-kernels | FileCheck %s --check-prefix=FUSE

#target = #heddle.dims<"target_tokens">
#source = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @target_tokens max 64
heddle.size @source_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.size @source_length max 16 longest "source_lengths"
heddle.size @step max 8 of @sequences from 0

// The keys do not depend on the scan, so they are computed once.
// HOIST-LABEL: func.func @attend
// HOIST: %[[KEYS:.*]] = heddle.matmul %arg1, %arg7
// HOIST: heddle.scan rows(%arg0, %arg4) states(%{{.*}}, %arg5, %arg6) constants(%[[KEYS]])
// HOIST-NOT: heddle.matmul
// HOIST: heddle.yield

// Numbers of sequences and of tokens are sorted like rows.
// LOWER-LABEL: func.func @attend
// LOWER: %[[ORDER:.*]] = heddle.find_first
// LOWER: %[[PLACES:.*]], %[[TOKENS:.*]] = heddle.step_order
// LOWER: %[[STARTS:.*]] = heddle.embedding %[[ORDER]], %arg5 : tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">> -> tensor<?xi32, #heddle.dims<"sequences">>
// LOWER: heddle.repeat "target_length"
// LOWER: %[[NOW:.*]] = heddle.step_rows %{{.*}} : tensor<?xi32, #heddle.dims<"target_tokens">> to tensor<?xi32, #heddle.dims<"step">>
// LOWER: heddle.slice %{{.*}} from 0 : tensor<?xi32, #heddle.dims<"sequences">> to tensor<?xi32, #heddle.dims<"step">>
// The mask of missing keys does not depend on the position.
// LOWER: %[[ZERO:.*]] = heddle.fill 0 : i32 : tensor<?xi32, #heddle.dims<"step">>
// LOWER: heddle.mask %{{.*}} at(%[[ZERO]]
// LOWER: %[[WEIGHTS:.*]] = heddle.softmax
// LOWER: heddle.insert_rows %[[WEIGHTS]] into %{{.*}} : tensor<?x1x16xf32, #heddle.dims<"step">> into tensor<?x1x16xf32, #heddle.dims<"target_tokens">>
// LOWER: heddle.embedding %[[PLACES]], %{{.*}} -> tensor<?x1x16xf32, #heddle.dims<"target_tokens">>

// The starts and lengths of lone queries take no memory: the kernels number queries by themselves.
// One kernel computes the whole attention of a query.
// FUSE-LABEL: func.func @attend
// FUSE: heddle.repeat
// FUSE-NOT: heddle.kernel "iota
// FUSE: heddle.kernel "context_scores_mask_softmax"
// FUSE-DAG: %[[NUMBER:.*]] = heddle.iota : tensor<?xi32, #heddle.dims<"step">>
// FUSE-DAG: %[[ONE:.*]] = heddle.fill 1 : i32
// FUSE: %[[SCORES:.*]] = heddle.scores %{{.*}}, %{{.*}} queries(%[[NUMBER]], %[[ONE]])
// FUSE: %[[MASKED:.*]] = heddle.mask %[[SCORES]]
// FUSE: %[[WEIGHTS:.*]] = heddle.softmax %[[MASKED]]
// FUSE: heddle.context %[[WEIGHTS]]
// FUSE: heddle.insert_rows %[[WEIGHTS]]
func.func @attend(%x: tensor<?x8xf32, #target>, %n: tensor<?x8xf32, #source>, %starts: tensor<?xi32, #sequences>,
                  %lengths: tensor<?xi32, #sequences>, %places: tensor<?xi32, #target>, %ks: tensor<?xi32, #sequences>,
                  %kl: tensor<?xi32, #sequences>, %u: tensor<8x8xf32>)
    -> (tensor<?x8xf32, #target>, tensor<?x1x16xf32, #target>) {
  %h0 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #sequences>
  %last:3, %all, %weights = heddle.scan rows(%x, %places) states(%h0, %ks, %kl) constants(%n, %u) of(%starts, %lengths)
      {row_size = "target_length", step = "step"}
      : (tensor<?x8xf32, #target>, tensor<?xi32, #target>, tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>, tensor<?x8xf32, #source>, tensor<8x8xf32>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>)
      -> (tensor<?x8xf32, #sequences>, tensor<?xi32, #sequences>, tensor<?xi32, #sequences>, tensor<?x8xf32, #target>,
          tensor<?x1x16xf32, #target>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %place: tensor<?xi32, #step>, %h: tensor<?x8xf32, #step>, %s: tensor<?xi32, #step>,
       %l: tensor<?xi32, #step>, %notes: tensor<?x8xf32, #source>, %w: tensor<8x8xf32>):
    %keys = heddle.matmul %notes, %w : tensor<?x8xf32, #source>, tensor<8x8xf32> -> tensor<?x8xf32, #source>
    %number = heddle.iota : tensor<?xi32, #step>
    %one = heddle.fill 1 : i32 : tensor<?xi32, #step>
    %scores = heddle.scores %h, %keys queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x8xf32, #step>, tensor<?x8xf32, #source>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>,
           tensor<?xi32, #step>) -> tensor<?x1x16xf32, #step>
    %masked = heddle.mask %scores at(%place, %number) keys(%l) {value = 0xFF800000 : f32}
        : tensor<?x1x16xf32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>
    %p = heddle.softmax %masked : tensor<?x1x16xf32, #step>
    %c = heddle.context %p, %keys queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x1x16xf32, #step>, tensor<?x8xf32, #source>, tensor<?xi32, #step>, tensor<?xi32, #step>,
           tensor<?xi32, #step>, tensor<?xi32, #step>) -> tensor<?x8xf32, #step>
    %next = arith.addf %c, %now : tensor<?x8xf32, #step>
    heddle.yield %next, %s, %l, %next, %p
        : tensor<?x8xf32, #step>, tensor<?xi32, #step>, tensor<?xi32, #step>, tensor<?x8xf32, #step>, tensor<?x1x16xf32, #step>
  }
  return %all, %weights : tensor<?x8xf32, #target>, tensor<?x1x16xf32, #target>
}
