// A weight with a matrix for each expert: an update's matmuls and sums work on each matrix by itself. `rows` counts the
// rows of all.
// RUN: heddle-opt %s --heddle-elaborate-updates | FileCheck %s

heddle.optimizer "mine.weft" {parameters = {}, text = "update(w, g) {\0A  size = sqrt(sum(g ^ 2, over = \"all\"))\0A  square = g @ transpose(g)\0A  w - (rate * rows / matrices) * ((square @ g) / size + g @ (transpose(g) @ g))\0A}\0A"}
heddle.training {beta1 = 0.9 : f32, beta2 = 0.98 : f32, clip_norm = 0.0 : f32, epsilon = 1.0e-9 : f32}
heddle.size @n max 8

// CHECK: heddle.variable @experts weight : tensor<6x4xf32> {heddle.update = @update.0
heddle.variable @experts weight : tensor<6x4xf32>
// CHECK: heddle.variable @one weight : tensor<6x4xf32> {heddle.update = @update.1
heddle.variable @one weight : tensor<6x4xf32>

func.func private @hidden(%x: tensor<?x2xf32, #heddle.dims<"n">> {heddle.name = "x"}, %starts: tensor<4xi32> {heddle.name = "starts"}) -> (tensor<?x4xf32, #heddle.dims<"n">> {heddle.name = "hidden"}) attributes {heddle.model} {
  %w = heddle.read @experts : tensor<6x4xf32>
  %0 = heddle.grouped_matmul %x, %w groups(%starts) : tensor<?x2xf32, #heddle.dims<"n">>, tensor<6x4xf32>, tensor<4xi32> -> tensor<?x4xf32, #heddle.dims<"n">>
  return %0 : tensor<?x4xf32, #heddle.dims<"n">>
}

// CHECK: func.func private @update.0(%{{.*}}, %[[G:[a-z0-9]+]]: tensor<6x4xf32> {heddle.name = "gradient"}
// The sums of three matrices, as a row.
// CHECK: heddle.reshape {{.*}} : tensor<1x6xf32> to tensor<3x2xf32>
// CHECK: %[[SUMS:.*]] = heddle.matmul {{.*}} {transpose_rhs} : tensor<1x2xf32>, tensor<3x2xf32> -> tensor<1x3xf32>
// CHECK: %[[SIZE:.*]] = math.sqrt %[[SUMS]]
// CHECK: %[[AT:.*]] = heddle.numbers [0.000000e+00, 2.000000e+00, 4.000000e+00, 6.000000e+00]
// CHECK: %[[STARTS:.*]] = arith.fptosi %[[AT]]
// CHECK: %[[SQUARE:.*]] = heddle.grouped_matmul %[[G]], %[[G]] groups(%[[STARTS]]) {transpose_rhs} : tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xi32> -> tensor<6x2xf32>
// CHECK: heddle.grouped_matmul %[[SQUARE]], %[[G]] groups({{.*}}) : tensor<6x2xf32>, tensor<6x4xf32>, tensor<4xi32> -> tensor<6x4xf32>
// Each matrix is divided by its own number.
// CHECK: %[[COLUMN:.*]] = heddle.reshape %[[SIZE]] : tensor<1x3xf32> to tensor<3x1xf32>
// CHECK: heddle.matmul %[[COLUMN]], {{.*}} : tensor<3x1xf32>, tensor<1x8xf32> -> tensor<3x8xf32>
// CHECK: arith.divf
// CHECK: %[[INNER:.*]] = heddle.grouped_matmul %[[G]], %[[G]] groups({{.*}}) {transpose_lhs} : tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xi32> -> tensor<12x4xf32>
// CHECK: heddle.grouped_matmul %[[G]], %[[INNER]] {{.*}} : tensor<6x4xf32>, tensor<12x4xf32>, tensor<4xi32> -> tensor<6x4xf32>
// CHECK-LABEL: func.func private @update.1(
// CHECK-NOT: heddle.grouped_matmul
// CHECK: heddle.fill 6.000000e+00
// CHECK: heddle.fill 1.000000e+00
