// Weights that a GGUF file has packed are kept in its types; others stay as they are.
// RUN: heddle-opt %s --heddle-quantize-weights | FileCheck %s
// RUN: heddle-opt %s --heddle-quantize-weights=weights=f32 | FileCheck %s --check-prefix=F32
// RUN: heddle-opt %s --heddle-quantize-weights=trains=true | FileCheck %s --check-prefix=TRAINS
// Processors keep the folder's weights of 16 bits, too.
// RUN: heddle-opt %s --heddle-quantize-weights=panel=16 | FileCheck %s --check-prefix=PROCESSOR
// RUN: heddle-opt %s --heddle-quantize-weights='panel=16 trains=true' | FileCheck %s --check-prefix=TRAINS
// PROCESSOR: heddle.variable @folder_half weight : tensor<512x16xbf16> {columns = 16 : i64
// TRAINS: heddle.variable @plain weight : tensor<16x16xf32>
// TRAINS: heddle.variable @folder weight : tensor<512x16xf32>
// TRAINS: heddle.variable @folder_half weight : tensor<512x16xf32>
// F32-NOT: xi32>

// 6-bit scales in bytes, and a factor for every 256 inputs; the same for offsets.
// CHECK: heddle.variable @up weight : tensor<64x16xi32>
// CHECK-NEXT: heddle.variable @up.scales weight of @up as scales : tensor<4x16xi32>
// CHECK-NEXT: heddle.variable @up.scales.scales weight of @up.scales as scales : tensor<2x16xf16>
// CHECK-NEXT: heddle.variable @up.offsets weight of @up as offsets : tensor<4x16xi32>
// CHECK-NEXT: heddle.variable @up.offsets.scales weight of @up.offsets as scales : tensor<2x16xf16>
// Five bits: one word array has four of them, another has the fifth.
// CHECK-NEXT: heddle.variable @down weight : tensor<2x512xi32>
// CHECK-NEXT: heddle.variable @down.high weight of @down as high_bits : tensor<1x512xi32>
// CHECK-NEXT: heddle.variable @down.scales weight of @down as scales : tensor<16x16xf16>
// A number of inputs that is no multiple of the block, and a 16-bit type.
// CHECK-NEXT: heddle.variable @odd weight : tensor<16x16xf32>
// CHECK-NEXT: heddle.variable @plain weight : tensor<16x16xf16>
// Indices into a table, and scales that are powers of two.
// CHECK-NEXT: heddle.variable @table weight : tensor<64x16xi32>
// CHECK-NEXT: heddle.variable @table.table weight of @table as table : tensor<1x16xf32>
// CHECK-NEXT: heddle.variable @table.scales weight of @table as scales : tensor<16x16xbf16>
// The folder's packed weights are kept unless the model is trained.
// CHECK-NEXT: heddle.variable @folder weight : tensor<64x16xi32>
// CHECK: heddle.variable @folder_half weight : tensor<512x16xf32>
module {
  heddle.variable @up weight : tensor<512x16xf32> {heddle.stored = "Q4_K"}
  heddle.variable @down weight : tensor<16x512xf32> {heddle.stored = "Q5_0"}
  heddle.variable @odd weight : tensor<16x16xf32> {heddle.stored = "Q8_0"}
  heddle.variable @plain weight : tensor<16x16xf32> {heddle.stored = "F16"}
  heddle.variable @table weight : tensor<512x16xf32> {heddle.stored = "MXFP4"}
  heddle.variable @folder weight : tensor<512x16xf32> {heddle.stored_in_folder = "MXFP4"}
  heddle.variable @folder_half weight : tensor<512x16xf32> {heddle.stored_in_folder = "BF16"}
  // CHECK-LABEL: func.func @f
  func.func @f(%x: tensor<8x512xf32>) -> tensor<8x16xf32> {
    // CHECK: %[[WORDS:.*]] = heddle.read @up
    // CHECK-NEXT: %[[OF_SCALES:.*]] = heddle.read @up.scales : tensor<4x16xi32>
    // CHECK-NEXT: %[[HALF:.*]] = heddle.read @up.scales.scales : tensor<2x16xf16>
    // CHECK-NEXT: %[[FACTORS:.*]] = arith.extf %[[HALF]] : tensor<2x16xf16> to tensor<2x16xf32>
    // CHECK-NEXT: %[[SCALES:.*]] = heddle.dequantize %[[OF_SCALES]] scales(%[[FACTORS]]) {bits = 8 : i64}
    // CHECK: %[[OFFSETS:.*]] = heddle.dequantize
    // CHECK-NEXT: %[[UP:.*]] = heddle.dequantize %[[WORDS]] scales(%[[SCALES]]) offsets(%[[OFFSETS]]) {bits = 4 : i64, is_unsigned}
    // CHECK-NEXT: heddle.matmul %{{.*}}, %[[UP]]
    %up = heddle.read @up : tensor<512x16xf32>
    %h = heddle.matmul %x, %up : tensor<8x512xf32>, tensor<512x16xf32> -> tensor<8x16xf32>
    // CHECK: heddle.dequantize %{{.*}} high(%{{.*}}) scales(%{{.*}}) {bits = 4 : i64, high_bits = 1 : i64}
    %down = heddle.read @down : tensor<16x512xf32>
    %y = heddle.matmul %x, %down {transpose_rhs} : tensor<8x512xf32>, tensor<16x512xf32> -> tensor<8x16xf32>
    %odd = heddle.read @odd : tensor<16x16xf32>
    %o = heddle.matmul %h, %odd : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    %plain = heddle.read @plain : tensor<16x16xf32>
    // CHECK: %[[HALF:.*]] = heddle.read @plain : tensor<16x16xf16>
    // CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[HALF]] : tensor<16x16xf16> to tensor<16x16xf32>
    // CHECK-NEXT: heddle.matmul %{{.*}}, %[[WIDE]]
    %p = heddle.matmul %o, %plain : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    // CHECK: %[[VALUES:.*]] = heddle.read @table.table : tensor<1x16xf32>
    // CHECK: heddle.dequantize %{{.*}} table(%[[VALUES]]) scales(%{{.*}}) {bits = 4 : i64, is_unsigned}
    %table = heddle.read @table : tensor<512x16xf32>
    %t = heddle.matmul %x, %table : tensor<8x512xf32>, tensor<512x16xf32> -> tensor<8x16xf32>
    // CHECK: arith.addf
    %q = arith.addf %p, %t : tensor<8x16xf32>
    %folder = heddle.read @folder : tensor<512x16xf32>
    %z = heddle.matmul %x, %folder : tensor<8x512xf32>, tensor<512x16xf32> -> tensor<8x16xf32>
    %half = heddle.read @folder_half : tensor<512x16xf32>
    %halves = heddle.matmul %x, %half : tensor<8x512xf32>, tensor<512x16xf32> -> tensor<8x16xf32>
    %sum = arith.addf %y, %q : tensor<8x16xf32>
    return %sum : tensor<8x16xf32>
  }
}
