// RUN: heddle-opt %s --canonicalize | FileCheck %s

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#turned = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>

// A conversion to the tile's own layout is erased.
// CHECK-LABEL: func.func @same
// CHECK-NEXT: return %arg0
func.func @same(%t: tensor<8x32xf32, #distributed>) -> tensor<8x32xf32, #distributed> {
  %0 = tile.convert_layout %t : tensor<8x32xf32, #distributed> -> tensor<8x32xf32, #distributed>
  return %0 : tensor<8x32xf32, #distributed>
}

// Of two conversions in a row only the second stays.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[RESULT:.*]] = tile.convert_layout %arg0 : tensor<8x32xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<8x32xf32, #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>>
// CHECK-NEXT: return %[[RESULT]]
func.func @twice(%t: tensor<8x32xf32, #distributed>) -> tensor<8x32xf32, #whole> {
  %0 = tile.convert_layout %t : tensor<8x32xf32, #distributed> -> tensor<8x32xf32, #turned>
  %1 = tile.convert_layout %0 : tensor<8x32xf32, #turned> -> tensor<8x32xf32, #whole>
  return %1 : tensor<8x32xf32, #whole>
}

// A conversion back to the original layout is erased.
// CHECK-LABEL: func.func @back
// CHECK-NEXT: return %arg0
func.func @back(%t: tensor<8x32xf32, #distributed>) -> tensor<8x32xf32, #distributed> {
  %0 = tile.convert_layout %t : tensor<8x32xf32, #distributed> -> tensor<8x32xf32, #turned>
  %1 = tile.convert_layout %0 : tensor<8x32xf32, #turned> -> tensor<8x32xf32, #distributed>
  return %1 : tensor<8x32xf32, #distributed>
}
