// Rows, states and outputs of one number each, and scores as outputs, are sorted, sliced and stored like rows of
// matrices.
// RUN: heddle-opt %s --heddle-lower-scans | FileCheck %s
// RUN: heddle-compile %s --target=vulkan:software --compile-to=plan -o - | FileCheck %s --check-prefix=PLAN

#target = #heddle.dims<"target_tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @target_tokens max 64
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.size @step max 8 of @sequences from 0

!numbers = tensor<?xi32, #sequences>

// CHECK-LABEL: func.func @sums
// CHECK: %[[ORDER:.*]] = heddle.find_first
// CHECK: %[[PLACES:.*]], %[[TOKENS:.*]] = heddle.step_order
// CHECK: %[[BEGIN:.*]] = heddle.embedding %[[ORDER]], %arg1 : tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xf32, #heddle.dims<"sequences">> -> tensor<?xf32, #heddle.dims<"sequences">>
// CHECK: %[[REPEAT:.*]]:{{[0-9]+}} = heddle.repeat "target_length"
// A step processes the first sequences, as many as have not ended.
// CHECK: %[[NOW:.*]] = heddle.step_rows
// CHECK: heddle.embedding %[[NOW]], %{{.*}} : tensor<?xi32, #heddle.dims<"step">>, tensor<?xf32, #heddle.dims<"target_tokens">> -> tensor<?xf32, #heddle.dims<"step">>
// CHECK: heddle.slice %{{.*}} from 0 : tensor<?xf32, #heddle.dims<"sequences">> to tensor<?xf32, #heddle.dims<"step">>
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[SCORES:.*]] = heddle.broadcast %[[SUM]] : tensor<?xf32, #heddle.dims<"step">> to tensor<?x2x16xf32, #heddle.dims<"step">>
// CHECK-DAG: heddle.replace_first %[[SUM]] of %{{.*}} : tensor<?xf32, #heddle.dims<"step">> of tensor<?xf32, #heddle.dims<"sequences">>
// CHECK-DAG: heddle.insert_rows %[[SUM]] into %{{.*}} : tensor<?xf32, #heddle.dims<"step">> into tensor<?xf32, #heddle.dims<"target_tokens">>
// CHECK-DAG: heddle.insert_rows %[[SCORES]] into %{{.*}} : tensor<?x2x16xf32, #heddle.dims<"step">> into tensor<?x2x16xf32, #heddle.dims<"target_tokens">>
// CHECK: heddle.yield
// Each sequence gets its own last state, and each token its own output.
// CHECK-DAG: heddle.embedding %{{.*}}, %[[REPEAT]]#{{[0-9]}} : tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xf32, #heddle.dims<"sequences">> -> tensor<?xf32, #heddle.dims<"sequences">>
// CHECK-DAG: heddle.embedding %[[PLACES]], %[[REPEAT]]#{{[0-9]}} : tensor<?xi32, #heddle.dims<"target_tokens">>, tensor<?xf32, #heddle.dims<"target_tokens">> -> tensor<?xf32, #heddle.dims<"target_tokens">>
// CHECK-DAG: heddle.embedding %[[PLACES]], %[[REPEAT]]#{{[0-9]}} : tensor<?xi32, #heddle.dims<"target_tokens">>, tensor<?x2x16xf32, #heddle.dims<"target_tokens">> -> tensor<?x2x16xf32, #heddle.dims<"target_tokens">>

// All phases accept such rows.
// PLAN-LABEL: plan.entry @sums
func.func @sums(%x: tensor<?xf32, #target> {heddle.name = "x"}, %begin: tensor<?xf32, #sequences> {heddle.name = "begin"},
                %starts: !numbers {heddle.name = "target_starts"}, %lengths: !numbers {heddle.name = "target_lengths"})
    -> (tensor<?xf32, #sequences> {heddle.name = "last"}, tensor<?xf32, #target> {heddle.name = "sums"},
        tensor<?x2x16xf32, #target> {heddle.name = "scores"}) {
  %last, %all, %scores = heddle.scan rows(%x) states(%begin) constants() of(%starts, %lengths) {row_size = "target_length", step = "step"}
      : (tensor<?xf32, #target>, tensor<?xf32, #sequences>, !numbers, !numbers)
      -> (tensor<?xf32, #sequences>, tensor<?xf32, #target>, tensor<?x2x16xf32, #target>) {
  ^bb0(%now: tensor<?xf32, #step>, %sum: tensor<?xf32, #step>):
    %next = arith.addf %sum, %now : tensor<?xf32, #step>
    %pairs = heddle.broadcast %next : tensor<?xf32, #step> to tensor<?x2x16xf32, #step>
    heddle.yield %next, %next, %pairs : tensor<?xf32, #step>, tensor<?xf32, #step>, tensor<?x2x16xf32, #step>
  }
  return %last, %all, %scores : tensor<?xf32, #sequences>, tensor<?xf32, #target>, tensor<?x2x16xf32, #target>
}
