// Weights with a matrix for each expert, one below the other. Groups and words do not cross matrices. They have no panels.
// RUN: heddle-opt %s --heddle-quantize-weights=weights=int8 | FileCheck %s --check-prefix=INT8
// RUN: heddle-opt %s --heddle-quantize-weights='weights=int4:16 panel=8' | FileCheck %s --check-prefix=PANELS

// A scale for each column of each matrix.
// INT8: heddle.variable @wide weight : tensor<16x24xi32>
// INT8-NEXT: heddle.variable @wide.scales weight of @wide as scales : tensor<2x24xf32>
// INT8: heddle.variable @low weight : tensor<8x24xi32>
// INT8: heddle.variable @odd weight : tensor<24x24xf32>
// PANELS: heddle.variable @wide weight : tensor<8x24xi32>
// PANELS-NEXT: heddle.variable @wide.scales weight of @wide as scales : tensor<4x24xf32>
// PANELS-NEXT: heddle.variable @low weight : tensor<4x24xi32>
// PANELS: heddle.dequantize %{{.*}} : (tensor<8x24xi32>, tensor<4x24xf32>) -> tensor<64x24xf32>
// PANELS-NEXT: heddle.grouped_matmul
!x = tensor<?x32xf32, #heddle.dims<"rows">>
!y = tensor<?x24xf32, #heddle.dims<"rows">>
heddle.variable @wide weight : tensor<64x24xf32>
heddle.variable @low weight : tensor<32x24xf32>
heddle.variable @odd weight : tensor<24x24xf32>
func.func @f(%x: !x, %z: tensor<?x16xf32, #heddle.dims<"rows">>, %o: tensor<?x12xf32, #heddle.dims<"rows">>, %starts: tensor<3xi32>)
    -> (!y, !y, !y) {
  %wide = heddle.read @wide : tensor<64x24xf32>
  %a = heddle.grouped_matmul %x, %wide groups(%starts) : !x, tensor<64x24xf32>, tensor<3xi32> -> !y
  %low = heddle.read @low : tensor<32x24xf32>
  %b = heddle.grouped_matmul %z, %low groups(%starts) : tensor<?x16xf32, #heddle.dims<"rows">>, tensor<32x24xf32>, tensor<3xi32> -> !y
  %odd = heddle.read @odd : tensor<24x24xf32>
  %c = heddle.grouped_matmul %o, %odd groups(%starts) : tensor<?x12xf32, #heddle.dims<"rows">>, tensor<24x24xf32>, tensor<3xi32> -> !y
  return %a, %b, %c : !y, !y, !y
}
