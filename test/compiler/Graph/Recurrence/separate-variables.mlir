// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-separate-states))' | FileCheck %s

heddle.variable @w weight : tensor<4xf32>
heddle.variable @last optimizer_state : tensor<4xf32>

// The kernel that computes the new value of @last must not overwrite the old one, because a later kernel needs both.
// The kernel that computes the new value of @w comes last, so it may.
// CHECK-LABEL: @change
// CHECK: %[[G:.*]] = heddle.kernel "gradient"
// CHECK: %[[W:.*]] = heddle.kernel "change"
// CHECK-DAG: %[[COPY:.*]] = heddle.kernel "copy"(%[[G]] :
// CHECK-DAG: heddle.write @last, %[[COPY]]
// CHECK-DAG: heddle.write @w, %[[W]]
// CHECK-NOT: "copy"
// CHECK-LABEL: @momentum
func.func @change(%x: tensor<4xf32>) {
  %w = heddle.read @w : tensor<4xf32>
  %last = heddle.read @last : tensor<4xf32>
  %g = heddle.kernel "gradient"(%x : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = arith.mulf %a, %a : tensor<4xf32>
    heddle.yield %0 : tensor<4xf32>
  }
  %w2 = heddle.kernel "change"(%w, %g, %last : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = arith.subf %b, %c : tensor<4xf32>
    %1 = arith.subf %a, %0 : tensor<4xf32>
    heddle.yield %1 : tensor<4xf32>
  }
  heddle.write @last, %g : tensor<4xf32>
  heddle.write @w, %w2 : tensor<4xf32>
  return
}

// A kernel may overwrite an old value that it reads itself, and so may a kernel after all other readers.
// CHECK-NOT: "copy"
// CHECK: return
// CHECK-LABEL: @swap
func.func @momentum(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = heddle.read @w : tensor<4xf32>
  %last = heddle.read @last : tensor<4xf32>
  %y = heddle.kernel "forward"(%x, %w : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = arith.mulf %a, %b : tensor<4xf32>
    heddle.yield %0 : tensor<4xf32>
  }
  %new:2 = heddle.kernel "momentum"(%w, %last, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = arith.addf %b, %c : tensor<4xf32>
    %1 = arith.subf %a, %0 : tensor<4xf32>
    heddle.yield %1, %0 : tensor<4xf32>, tensor<4xf32>
  }
  heddle.write @w, %new#0 : tensor<4xf32>
  heddle.write @last, %new#1 : tensor<4xf32>
  return %y : tensor<4xf32>
}

// The old value of @last is copied before it is overwritten, and becomes the value of @w once @w has been read. A
// variable that does not change needs no write.
// CHECK: %[[LAST:.*]] = heddle.read @last
// CHECK-NEXT: %[[OLD:.*]] = heddle.kernel "copy"(%[[LAST]] :
// CHECK: %[[NEW:.*]] = heddle.kernel "add"
// CHECK-NOT: heddle.write @same
// CHECK-DAG: heddle.write @last, %[[NEW]]
// CHECK-DAG: %[[COPY:.*]] = heddle.kernel "copy"(%[[OLD]] :
// CHECK-DAG: heddle.write @w, %[[COPY]]
heddle.variable @same optimizer_state : tensor<4xf32>
func.func @swap() {
  %w = heddle.read @w : tensor<4xf32>
  %last = heddle.read @last : tensor<4xf32>
  %same = heddle.read @same : tensor<4xf32>
  %new = heddle.kernel "add"(%w, %same : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %0 = arith.addf %a, %b : tensor<4xf32>
    heddle.yield %0 : tensor<4xf32>
  }
  heddle.write @same, %same : tensor<4xf32>
  heddle.write @last, %new : tensor<4xf32>
  heddle.write @w, %last : tensor<4xf32>
  return
}

// Rows are added in place, so the first kernel of the chain takes the memory of the sum, before the old value is read.
// CHECK-LABEL: @late
// CHECK: %[[SUM:.*]] = heddle.kernel "scatter_add"
// CHECK: %[[COPY:.*]] = heddle.kernel "copy"(%[[SUM]] :
// CHECK: heddle.write @table, %[[COPY]]
heddle.variable @table optimizer_state : tensor<4x2xf32>
func.func @late(%x: tensor<4x2xf32>, %at: tensor<?xi32, #heddle.dims<"n">>, %rows: tensor<?x2xf32, #heddle.dims<"n">>) -> tensor<4x2xf32> {
  %old = heddle.read @table : tensor<4x2xf32>
  %first = heddle.kernel "first"(%x : tensor<4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%a: tensor<4x2xf32>):
    %0 = arith.mulf %a, %a : tensor<4x2xf32>
    heddle.yield %0 : tensor<4x2xf32>
  }
  %sum = heddle.kernel "scatter_add"(%first, %at, %rows : tensor<4x2xf32>, tensor<?xi32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>) -> tensor<4x2xf32> {
  ^bb0(%a: tensor<4x2xf32>, %b: tensor<?xi32, #heddle.dims<"n">>, %c: tensor<?x2xf32, #heddle.dims<"n">>):
    %0 = heddle.scatter_add %a, %b, %c : tensor<4x2xf32>, tensor<?xi32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>
    heddle.yield %0 : tensor<4x2xf32>
  }
  %use = heddle.kernel "use"(%old : tensor<4x2xf32>) -> tensor<4x2xf32> {
  ^bb0(%a: tensor<4x2xf32>):
    %0 = arith.mulf %a, %a : tensor<4x2xf32>
    heddle.yield %0 : tensor<4x2xf32>
  }
  heddle.write @table, %sum : tensor<4x2xf32>
  return %use : tensor<4x2xf32>
}
