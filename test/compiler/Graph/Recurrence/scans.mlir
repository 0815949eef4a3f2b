// RUN: heddle-opt %s --heddle-hoist-scans | FileCheck %s --check-prefix=HOIST
// RUN: heddle-opt %s --heddle-hoist-scans --heddle-lower-scans | FileCheck %s --check-prefix=LOWER
// RUN: heddle-opt %s --heddle-hoist-scans --heddle-lower-scans --heddle-fuse-kernels | FileCheck %s --check-prefix=FUSE
// RUN: heddle-opt %s --heddle-hoist-scans --heddle-lower-scans --heddle-fuse-kernels --heddle-separate-states | FileCheck %s --check-prefix=SEPARATE
// RUN: heddle-compile %s --target=vulkan:software --compile-to=plan -o - | FileCheck %s --check-prefix=PLAN

#tokens = #heddle.dims<"tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @tokens max 64
heddle.size @sequences max 8
heddle.size @length max 16 longest "lengths"
heddle.size @step max 8 of @sequences from 0
heddle.variable @u weight : tensor<8x8xf32>
heddle.variable @w weight : tensor<8x8xf32>

// The matmul that needs only rows is computed for all tokens before the scan. The tanh stays, because it costs a step
// nothing.
// HOIST-LABEL: func.func @elman
// HOIST: %[[XW:.*]] = heddle.matmul %arg0, %{{.*}} : tensor<?x8xf32, #heddle.dims<"tokens">>
// HOIST: heddle.scan rows(%arg0, %[[XW]])
// HOIST: ^bb0(%{{.*}}, %[[ROW:.*]]: tensor<?x8xf32, #heddle.dims<"step">>, %[[H:.*]]: tensor<?x8xf32, #heddle.dims<"step">>, %{{.*}}, %[[U:.*]]: tensor<8x8xf32>):
// HOIST-NEXT: %[[HU:.*]] = heddle.matmul %[[H]], %[[U]]
// HOIST-NEXT: arith.addf %[[ROW]], %[[HU]]

// Sequences are sorted by length, and the tokens of a step are neighbours.
// LOWER-LABEL: func.func @elman
// LOWER: %[[STARTS:.*]], %[[COUNTS:.*]] = heddle.step_sizes %[[LENGTHS:.*]] {tokens = "tokens"}
// LOWER: %[[RANK:.*]] = heddle.rank %[[LENGTHS]]
// LOWER: %[[ORDER:.*]] = heddle.find_first %[[RANK]]
// LOWER: %[[PLACES:.*]], %[[ROWS:.*]] = heddle.step_order
// LOWER: %[[EMPTY:.*]] = heddle.empty : tensor<?x8xf32, #heddle.dims<"tokens">>
// LOWER: %[[R:.*]]:2 = heddle.repeat "length" carried(%[[H0:.*]], %[[EMPTY]]) {{.*}} steps(%[[STARTS]], %[[COUNTS]]) {step = "step", tokens = "tokens"}
// LOWER: ^bb0(%[[START:[a-z0-9]+]]: tensor<1xi32>, %[[CARRIED:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"sequences">>, %[[ALL:[a-z0-9]+]]: tensor<?x8xf32, #heddle.dims<"tokens">>
// LOWER: heddle.slice %[[CARRIED]] from 0 : tensor<?x8xf32, #heddle.dims<"sequences">> to tensor<?x8xf32, #heddle.dims<"step">>
// LOWER: %[[NEW:.*]] = math.tanh
// LOWER: %[[NEXT:.*]] = heddle.replace_first %[[NEW]] of %[[CARRIED]]
// LOWER: %[[MORE:.*]] = heddle.insert_rows %[[NEW]] into %[[ALL]] at %[[START]]
// LOWER: heddle.yield %[[NEXT]], %[[MORE]]
// LOWER: %[[LAST:.*]] = heddle.embedding %[[RANK]], %[[R]]#0
// LOWER: %[[OUT:.*]] = heddle.embedding %[[PLACES]], %[[R]]#1
// LOWER: return %[[OUT]], %[[LAST]]

// A step is one kernel, which reads its rows in place and writes its results in place.
// FUSE-LABEL: func.func @elman
// FUSE: heddle.repeat
// FUSE: %[[K:.*]]:2 = heddle.kernel "matmul_addf_tanh_insert_rows"
// FUSE: heddle.matmul
// FUSE: heddle.step_rows
// FUSE: heddle.embedding
// FUSE: heddle.insert_rows
// FUSE: %[[NEXT:.*]] = heddle.replace_first %[[K]]#0
// FUSE-NEXT: heddle.yield %[[NEXT]], %[[K]]#1

// The matmul reads the whole old state, so the new state has to be copied over it afterwards.
// SEPARATE-LABEL: func.func @elman
// SEPARATE: %[[K:.*]]:2 = heddle.kernel "matmul_addf_tanh_insert_rows"
// SEPARATE: %[[COPY:.*]] = heddle.kernel "copy"(%[[K]]#0
// SEPARATE: heddle.replace_first %[[COPY]] of

// The state and the rows keep their places from step to step. Only the step's first row and its number of rows change.
// PLAN-LABEL: plan.entry @elman
// PLAN: @fill_Tx8 {{.*}}[#plan.binding<arena "", [[STATE:[0-9]+]], 256>
// PLAN: plan.repeat "length" most 16 rows "step" of "tokens" {
// PLAN: plan.launch barrier @matmul{{.*}} grid [#tile.grid<"step", 2, 1>{{.*}}#plan.binding<arena "", [[STATE]], 256>{{.*}}, 4 step 4>{{.*}}, 4 step 4>]
// PLAN-NEXT: plan.launch barrier @copy{{.*}}#plan.binding<arena "", [[STATE]], 256>, #plan.binding<arena "", {{[0-9]+}}, 4 step 4>]
// PLAN-NEXT: {{^ +[}]$}}
func.func @elman(%x: tensor<?x8xf32, #tokens> {heddle.name = "x"},
    %starts: tensor<?xi32, #sequences> {heddle.name = "starts"}, %lengths: tensor<?xi32, #sequences> {heddle.name = "lengths"})
    -> (tensor<?x8xf32, #tokens> {heddle.name = "all"}, tensor<?x8xf32, #sequences> {heddle.name = "last"}) {
  %u = heddle.read @u : tensor<8x8xf32>
  %w = heddle.read @w : tensor<8x8xf32>
  %h0 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #sequences>
  %last, %all = heddle.scan rows(%x) states(%h0) constants(%w, %u) of(%starts, %lengths) {row_size = "length", step = "step"}
      : (tensor<?x8xf32, #tokens>, tensor<?x8xf32, #sequences>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<?xi32, #sequences>,
         tensor<?xi32, #sequences>) -> (tensor<?x8xf32, #sequences>, tensor<?x8xf32, #tokens>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %h: tensor<?x8xf32, #step>, %a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %xw = heddle.matmul %now, %a : tensor<?x8xf32, #step>, tensor<8x8xf32> -> tensor<?x8xf32, #step>
    %0 = heddle.matmul %h, %b : tensor<?x8xf32, #step>, tensor<8x8xf32> -> tensor<?x8xf32, #step>
    %1 = arith.addf %xw, %0 : tensor<?x8xf32, #step>
    %2 = math.tanh %1 : tensor<?x8xf32, #step>
    heddle.yield %2, %2 : tensor<?x8xf32, #step>, tensor<?x8xf32, #step>
  }
  return %all, %last : tensor<?x8xf32, #tokens>, tensor<?x8xf32, #sequences>
}
