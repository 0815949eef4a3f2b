// Weights with a matrix for each expert, one below the other. Groups and words do not cross matrices. A panel has
// columns of all matrices, and is as wide as possible.
// RUN: heddle-opt %s --heddle-quantize-weights=weights=int8 | FileCheck %s --check-prefix=INT8
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int4:16 panel=8' | FileCheck %s --check-prefix=PANELS

// A scale for each column of each matrix.
// INT8: heddle.variable @wide weight : tensor<16x24xi32>
// INT8-NEXT: heddle.variable @wide.scales weight of @wide as scales : tensor<2x24xf32>
// INT8: heddle.variable @low weight : tensor<8x24xi32>
// INT8: heddle.variable @odd weight : tensor<24x24xf32>
// Three panels of 8 columns, none for 16 rows, and two panels of 32 columns.
// PANELS: heddle.variable @wide weight : tensor<24x8xi32>
// PANELS-NEXT: heddle.variable @wide.scales weight of @wide as scales : tensor<12x8xf32>
// PANELS-NEXT: heddle.variable @low weight : tensor<4x24xi32>
// PANELS: heddle.variable @many weight : tensor<16x32xi32>
// PANELS-NEXT: heddle.variable @many.scales weight of @many as scales : tensor<8x32xf32>
// PANELS: heddle.dequantize %{{.*}} : (tensor<24x8xi32>, tensor<12x8xf32>) -> tensor<64x24xf32>
// PANELS-NEXT: heddle.grouped_matmul
// PANELS: heddle.dequantize %{{.*}} : (tensor<16x32xi32>, tensor<8x32xf32>) -> tensor<64x64xf32>
!x = tensor<?x32xf32, #heddle.dims<"rows">>
!y = tensor<?x24xf32, #heddle.dims<"rows">>
!z = tensor<?x64xf32, #heddle.dims<"rows">>
heddle.variable @wide weight : tensor<64x24xf32>
heddle.variable @low weight : tensor<32x24xf32>
heddle.variable @odd weight : tensor<24x24xf32>
heddle.variable @many weight : tensor<64x64xf32>
func.func @f(%x: !x, %z: tensor<?x16xf32, #heddle.dims<"rows">>, %o: tensor<?x12xf32, #heddle.dims<"rows">>, %starts: tensor<3xi32>)
    -> (!y, !y, !y, !z) {
  %wide = heddle.read @wide : tensor<64x24xf32>
  %a = heddle.grouped_matmul %x, %wide groups(%starts) : !x, tensor<64x24xf32>, tensor<3xi32> -> !y
  %low = heddle.read @low : tensor<32x24xf32>
  %b = heddle.grouped_matmul %z, %low groups(%starts) : tensor<?x16xf32, #heddle.dims<"rows">>, tensor<32x24xf32>, tensor<3xi32> -> !y
  %odd = heddle.read @odd : tensor<24x24xf32>
  %c = heddle.grouped_matmul %o, %odd groups(%starts) : tensor<?x12xf32, #heddle.dims<"rows">>, tensor<24x24xf32>, tensor<3xi32> -> !y
  %many = heddle.read @many : tensor<64x64xf32>
  %d = heddle.grouped_matmul %x, %many groups(%starts) : !x, tensor<64x64xf32>, tensor<3xi32> -> !z
  return %a, %b, %c, %d : !y, !y, !y, !z
}
