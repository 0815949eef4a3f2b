// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

!matrix = tensor<?x8xf32, #heddle.dims<"tokens">>
!column = tensor<?xf32, #heddle.dims<"tokens">>
!indices = tensor<?xi32, #heddle.dims<"tokens">>

// CHECK-LABEL: func.func @fill
func.func @fill() -> (tensor<1xi32>, !matrix) {
  // CHECK: heddle.fill 1 : i32 : tensor<1xi32>
  %0 = heddle.fill 1 : i32 : tensor<1xi32>
  // CHECK: heddle.fill 0xFF800000 : f32 : tensor<1xf32>
  %infinity = heddle.fill 0xFF800000 : f32 : tensor<1xf32>
  // CHECK: heddle.fill 5.000000e-01 : f32 : tensor<?x8xf32, #heddle.dims<"tokens">>
  %1 = heddle.fill 0.5 : f32 : !matrix
  return %0, %1 : tensor<1xi32>, !matrix
}

// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: %[[SCALAR:.*]]: tensor<1xf32>, %[[ROW:.*]]: tensor<8xf32>, %[[COLUMN:.*]]: tensor<?xf32, #heddle.dims<"tokens">>
func.func @broadcast(%scalar: tensor<1xf32>, %row: tensor<8xf32>, %column: !column,
                     %parts: tensor<?x2xf32, #heddle.dims<"tokens">>) {
  // CHECK: heddle.broadcast %[[SCALAR]] : tensor<1xf32> to tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.broadcast %scalar : tensor<1xf32> to !matrix
  // CHECK: heddle.broadcast %[[ROW]] : tensor<8xf32> to tensor<?x8xf32, #heddle.dims<"tokens">>
  %1 = heddle.broadcast %row : tensor<8xf32> to !matrix
  // CHECK: heddle.broadcast %[[COLUMN]] : tensor<?xf32, #heddle.dims<"tokens">> to tensor<?x8xf32, #heddle.dims<"tokens">>
  %2 = heddle.broadcast %column : !column to !matrix
  // CHECK: heddle.broadcast %[[ROW]] : tensor<8xf32> to tensor<?x2x8xf32, #heddle.dims<"tokens">>
  %3 = heddle.broadcast %row : tensor<8xf32> to tensor<?x2x8xf32, #heddle.dims<"tokens">>
  // CHECK: heddle.broadcast %{{.*}} : tensor<?x2xf32, #heddle.dims<"tokens">> to tensor<?x2x8xf32, #heddle.dims<"tokens">>
  %4 = heddle.broadcast %parts : tensor<?x2xf32, #heddle.dims<"tokens">> to tensor<?x2x8xf32, #heddle.dims<"tokens">>
  return
}

// CHECK-LABEL: func.func @tokens
func.func @tokens(%indices: !indices, %table: tensor<32x8xf32>, %numbers: tensor<32x8xi32>) {
  // CHECK: heddle.embedding %{{.*}}, %{{.*}} : tensor<?xi32, #heddle.dims<"tokens">>, tensor<32x8xf32> -> tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.embedding %indices, %table : !indices, tensor<32x8xf32> -> !matrix
  // CHECK: heddle.sinusoid %{{.*}} : tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?x8xf32, #heddle.dims<"tokens">>
  %1 = heddle.sinusoid %indices : !indices -> !matrix
  // CHECK: heddle.iota : tensor<?xi32, #heddle.dims<"tokens">>
  %2 = heddle.iota : !indices
  // CHECK: heddle.iota : tensor<8xi32>
  %3 = heddle.iota : tensor<8xi32>
  // CHECK: heddle.sinusoid %{{.*}} {halves} : tensor<?xi32, #heddle.dims<"tokens">> -> tensor<?x8xf32, #heddle.dims<"tokens">>
  %4 = heddle.sinusoid %indices {halves} : !indices -> !matrix
  // CHECK: heddle.embedding %{{.*}}, %{{.*}} : tensor<?xi32, #heddle.dims<"tokens">>, tensor<32x8xi32> -> tensor<?x8xi32, #heddle.dims<"tokens">>
  %5 = heddle.embedding %indices, %numbers : !indices, tensor<32x8xi32> -> tensor<?x8xi32, #heddle.dims<"tokens">>
  return
}

// CHECK-LABEL: func.func @densify
func.func @densify(%places: tensor<32x1xi32>, %rows: !matrix) {
  // CHECK: heddle.densify %{{.*}}, %{{.*}} : tensor<32x1xi32>, tensor<?x8xf32, #heddle.dims<"tokens">> -> tensor<32x8xf32>
  %0 = heddle.densify %places, %rows : tensor<32x1xi32>, !matrix -> tensor<32x8xf32>
  return
}

// CHECK-LABEL: func.func @random
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, {{.*}}>, %[[SEED:.*]]: tensor<2xi32>, %[[STEP:.*]]: tensor<1xi32>
func.func @random(%x: !matrix, %seed: tensor<2xi32>, %step: tensor<1xi32>) {
  // CHECK: heddle.dropout %[[X]] seed %[[SEED]] step %[[STEP]] {rate = 1.000000e-01 : f32, stream = 3 : i32} : tensor<?x8xf32, #heddle.dims<"tokens">>
  %0 = heddle.dropout %x seed %seed step %step {rate = 0.1 : f32, stream = 3 : i32} : !matrix
  // CHECK: heddle.random uniform %[[SEED]] {scale = 5.000000e-01 : f32, stream = 4 : i32} : tensor<8x8xf32>
  %1 = heddle.random uniform %seed {scale = 0.5 : f32, stream = 4 : i32} : tensor<8x8xf32>
  // CHECK: heddle.random normal %[[SEED]]
  %2 = heddle.random normal %seed {scale = 0.5 : f32, stream = 5 : i32} : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @adam
// CHECK-SAME: %[[W:.*]]: tensor<8xf32>, %[[S:.*]]: tensor<1xf32>
func.func @adam(%w: tensor<8xf32>, %s: tensor<1xf32>) {
  // CHECK: heddle.adam %[[W]], %[[W]], %[[W]], %[[W]] rate %[[S]] corrections %[[S]], %[[S]] scale %[[S]] {
  // CHECK-SAME: } : tensor<8xf32>
  %0:3 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<8xf32>
  // CHECK: heddle.adam {{.*}} scale %[[S]] average %[[W]] : tensor<8xf32> -> tensor<8xf32> {{{.*}}decay = 9.900000e-01 : f32{{.*}}skips} : tensor<8xf32>
  %1:4 = heddle.adam %w, %w, %w, %w rate %s corrections %s, %s scale %s average %w : tensor<8xf32> -> tensor<8xf32>
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 0.99 : f32, epsilon = 1.0e-9 : f32, skips} : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @adam_rounding
// CHECK-SAME: %[[W:.*]]: tensor<2x8xf32>, %[[M:.*]]: tensor<2x8xbf16>, %[[S:.*]]: tensor<1xf32>, %[[STEP:.*]]: tensor<1xi32>
func.func @adam_rounding(%w: tensor<2x8xf32>, %m: tensor<2x8xbf16>, %s: tensor<1xf32>, %step: tensor<1xi32>) -> tensor<2x8xbf16> {
  // CHECK: heddle.adam %[[W]], %[[W]], %[[M]], %[[M]] rate %[[S]] {{.*}} scale %[[S]] rounding %[[STEP]] {{{.*}}} : tensor<2x8xf32>, tensor<2x8xbf16>
  %0:3 = heddle.adam %w, %w, %m, %m rate %s corrections %s, %s scale %s rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, epsilon = 1.0e-9 : f32} : tensor<2x8xf32>, tensor<2x8xbf16>
  // CHECK: heddle.adam {{.*}} average %[[W]] : tensor<2x8xf32> -> tensor<2x8xf32> rounding %[[STEP]] {{{.*}}} : tensor<2x8xf32>, tensor<2x8xbf16>
  %1:4 = heddle.adam %w, %w, %m, %m rate %s corrections %s, %s scale %s average %w : tensor<2x8xf32> -> tensor<2x8xf32> rounding %step
    {beta1 = 0.9 : f32, beta2 = 0.98 : f32, decay = 0.99 : f32, epsilon = 1.0e-9 : f32} : tensor<2x8xf32>, tensor<2x8xbf16>
  return %1#2 : tensor<2x8xbf16>
}

// CHECK: heddle.variable @wide.weight weight : tensor<12x8xbf16> {columns = 24 : i64}
heddle.variable @wide.weight weight : tensor<12x8xbf16> {columns = 24}

// CHECK-LABEL: func.func @panels
func.func @panels() -> tensor<4x24xbf16> {
  %panels = heddle.read @wide.weight : tensor<12x8xbf16>
  // CHECK: heddle.join_panels %{{.*}} : tensor<12x8xbf16> -> tensor<4x24xbf16>
  %0 = heddle.join_panels %panels : tensor<12x8xbf16> -> tensor<4x24xbf16>
  return %0 : tensor<4x24xbf16>
}

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%words: tensor<2x8xi32>, %odd: tensor<2x8xi32>, %scales: tensor<4x8xf32>, %columns: tensor<9x2xf32>,
    %high: tensor<1x8xi32>, %values: tensor<1x16xf32>) {
  // CHECK: heddle.dequantize %{{.*}} {bits = 4 : i64} : (tensor<2x8xi32>) -> tensor<16x8xf32>
  %0 = heddle.dequantize %words {bits = 4} : (tensor<2x8xi32>) -> tensor<16x8xf32>
  // CHECK: heddle.dequantize %{{.*}} scales(%{{.*}}) {bits = 4 : i64} : (tensor<2x8xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  %1 = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<2x8xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  // The last words are not full.
  // CHECK: heddle.dequantize %{{.*}} scales(%{{.*}}) {bits = 4 : i64} : (tensor<2x8xi32>, tensor<9x2xf32>) -> tensor<9x8xf32>
  %2 = heddle.dequantize %odd scales(%columns) {bits = 4} : (tensor<2x8xi32>, tensor<9x2xf32>) -> tensor<9x8xf32>
  // CHECK: heddle.dequantize %{{.*}} high(%{{.*}}) scales(%{{.*}}) offsets(%{{.*}}) {bits = 4 : i64, high_bits = 2 : i64, is_unsigned}
  // CHECK-SAME: : (tensor<2x8xi32>, tensor<1x8xi32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  %3 = heddle.dequantize %words high(%high) scales(%scales) offsets(%scales) {bits = 4, high_bits = 2, is_unsigned}
      : (tensor<2x8xi32>, tensor<1x8xi32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  // CHECK: heddle.dequantize %{{.*}} table(%{{.*}}) scales(%{{.*}}) {bits = 4 : i64, is_unsigned}
  // CHECK-SAME: : (tensor<2x8xi32>, tensor<1x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  %4 = heddle.dequantize %words table(%values) scales(%scales) {bits = 4, is_unsigned}
      : (tensor<2x8xi32>, tensor<1x16xf32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  // Two panels of 8 columns.
  // CHECK: heddle.dequantize %{{.*}} scales(%{{.*}}) {bits = 4 : i64} : (tensor<2x8xi32>, tensor<4x8xf32>) -> tensor<8x16xf32>
  %5 = heddle.dequantize %words scales(%scales) {bits = 4} : (tensor<2x8xi32>, tensor<4x8xf32>) -> tensor<8x16xf32>
  return
}
