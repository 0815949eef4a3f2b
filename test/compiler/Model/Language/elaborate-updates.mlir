// A text chooses its rule by the weight's role and shape. Weights with the same role and shape share a function.
// RUN: heddle-opt %s --heddle-elaborate-updates | FileCheck %s
// RUN: heddle-opt %s --heddle-elaborate-updates=steps=false | FileCheck %s --check-prefix=NONE

// NONE-NOT: heddle.optimizer
// NONE-NOT: heddle.update
// NONE-NOT: optimizer.m

// CHECK-NOT: heddle.optimizer
heddle.optimizer "mine.weft" {parameters = {momentum = 0.5}, text = "param momentum = 0.9\0Aupdate(w, g) with m = if role == \"matrix\" { zeros(rows) } {\0A  if role == \"matrix\" { w - rate * g, momentum * m + sum(g) } else { w - rate * sign(g) }\0A}\0A"}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}

// CHECK: heddle.variable @table weight : tensor<10x4xf32> {heddle.update = @update.0
// CHECK-NOT: @optimizer.m.table
heddle.variable @table weight : tensor<10x4xf32>
// CHECK: heddle.variable @query weight : tensor<8x4xf32> {heddle.update = @update.1
// CHECK-NEXT: heddle.variable @optimizer.m.query optimizer_state : tensor<8xf32> {start = #heddle.start<constant 0.000000e+00 : f64>}
heddle.variable @query weight : tensor<8x4xf32>
// CHECK-NEXT: heddle.variable @key weight : tensor<8x4xf32> {heddle.update = @update.1
heddle.variable @key weight : tensor<8x4xf32>
// CHECK: heddle.variable @bias weight : tensor<4xf32> {heddle.update = @update.2
heddle.variable @bias weight : tensor<4xf32>
// CHECK-NEXT: heddle.variable @fixed frozen : tensor<4xf32>
heddle.variable @fixed frozen : tensor<4xf32>

func.func private @hidden(%in: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "in"}) -> (tensor<?x4xf32, #heddle.dims<"n">> {heddle.name = "hidden"}) attributes {heddle.model} {
  %t = heddle.read @table : tensor<10x4xf32>
  %0 = heddle.embedding %in, %t : tensor<?xi32, #heddle.dims<"n">>, tensor<10x4xf32> -> tensor<?x4xf32, #heddle.dims<"n">>
  return %0 : tensor<?x4xf32, #heddle.dims<"n">>
}
heddle.size @n max 8

// CHECK: func.func private @update.0(%{{.*}}: tensor<10x4xf32> {heddle.name = "weight"}, %{{.*}}: tensor<10x4xf32> {heddle.name = "gradient"}, %{{.*}}: tensor<1xf32> {heddle.name = "rate"}, %{{.*}}: tensor<1xf32> {heddle.name = "step"}) -> (tensor<10x4xf32> {heddle.name = "new_weight"}) attributes {heddle.update}
// CHECK-DAG: arith.cmpf ogt
// CHECK-DAG: arith.cmpf olt
// CHECK: func.func private @update.1({{.*}}, %[[M:.*]]: tensor<8xf32> {heddle.name = "m"}, {{.*}} -> (tensor<8x4xf32> {heddle.name = "new_weight"}, tensor<8xf32> {heddle.name = "new_m"})
// CHECK-DAG: %[[HALF:.*]] = heddle.fill 5.000000e-01 : f32 : tensor<8xf32>
// CHECK-DAG: arith.mulf %[[M]], %[[HALF]]
// The sums of rows are a matmul with ones.
// CHECK: heddle.matmul {{.*}} {transpose_rhs} : tensor<1x4xf32>, tensor<8x4xf32> -> tensor<1x8xf32>
// CHECK: func.func private @update.2
