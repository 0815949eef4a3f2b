// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(cse,heddle-stage-operands{target=vulkan:portable},heddle-assign-layouts{target=vulkan:portable},cse))' | FileCheck %s -DSUMS='#tile.simt<lanes = [16, 8], strides = [8, 1], vector = 4>' -DLEFT='#tile.simt<lanes = [16, 1], strides = [8, 1], vector = 4>' -DRIGHT='#tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>' -DTURNED='#tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>'

// A block has sixteen lanes along its rows and eight along its columns. A lane reads its rows of the left side and its
// columns of the right side, four places of the K dimension at a time. Neighbouring lanes read neighbouring elements of
// the next tiles, and write them to shared memory by the next iteration. The sum of an operand also reads its ring,
// each element in one lane.
// CHECK-LABEL: tile.func @product
// CHECK: %[[A:.*]] = tile.shared : memref<128x16xf32, strided<[20, 1]>
// CHECK: %[[B:.*]] = tile.shared : memref<32x64xf32, strided<[68, 1]>
// CHECK-NOT: tile.wait
// CHECK: tile.store %{{.*}}, %[[A]]
// CHECK: tile.store %{{.*}}, %[[B]]
// CHECK: scf.for
// CHECK: tile.wait 0
// CHECK: %[[NEXT_A:.*]] = tile.load %arg0{{.*}} -> tensor<64x16xf32, #tile.simt<lanes = [32, 4], strides = [4, 1], vector = 4>>
// CHECK: %[[NEXT_B:.*]] = tile.load %arg1{{.*}} -> tensor<16x64xf32, #tile.simt<lanes = [8, 16], strides = [16, 1], vector = 4>>
// CHECK: %[[ALL:.*]] = tile.load %[[B]]{{.*}} -> tensor<16x64xf32, #tile.simt<lanes = [8, 16], strides = [16, 1], vector = 4>>
// CHECK: %[[L0:.*]] = tile.load %[[A]][{{.*}}] {any_padding} : {{.*}} -> tensor<64x4xf32, [[LEFT]]>
// CHECK: %[[R0:.*]] = tile.load %[[B]][{{.*}}] {any_padding} : {{.*}} -> tensor<4x64xf32, [[RIGHT]]>
// CHECK: %[[D0:.*]] = tile.dot %[[L0]], %[[R0]], %{{.*}} -> tensor<64x64xf32, [[SUMS]]>
// CHECK: tile.load %[[A]][%{{.*}}, %c4]
// CHECK: %[[R1:.*]] = tile.load %[[B]]
// CHECK: %[[D1:.*]] = tile.dot %{{.*}}, %[[R1]], %[[D0]]
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
// CHECK: arith.addf %{{.*}}, %[[ALL]]
// CHECK: tile.store %[[NEXT_A]], %[[A]]
// CHECK: tile.store %[[NEXT_B]], %[[B]]
tile.func @product(%a: memref<64x256xf32>, %b: memref<256x64xf32>, %c: memref<64x64xf32>, %s: memref<16x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<16x64xf32>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %sum, %column = scf.for %k = %c0 to %c256 step %c16 iter_args(%state = %zero, %total = %none) -> (tensor<64x64xf32>, tensor<16x64xf32>) {
    %x = tile.load %a[%c0, %k] : memref<64x256xf32> -> tensor<64x16xf32>
    %y = tile.load %b[%k, %c0] : memref<256x64xf32> -> tensor<16x64xf32>
    %next = tile.dot %x, %y, %state : tensor<64x16xf32>, tensor<16x64xf32> -> tensor<64x64xf32>
    %again = tile.load %b[%k, %c0] : memref<256x64xf32> -> tensor<16x64xf32>
    %more = arith.addf %total, %again : tensor<16x64xf32>
    scf.yield %next, %more : tensor<64x64xf32>, tensor<16x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.store %column, %s[%c0, %c0] : tensor<16x64xf32>, memref<16x64xf32>
  tile.return
}

// A transposed left side is transposed on its way to shared memory. Rows of a transposed right side are distributed one
// by one, and so are columns of the result. 16-bit operands are widened in registers. The second loop reuses the ring
// of the first, once all lanes are done with it.
// CHECK-LABEL: tile.func @turned
// CHECK: %[[A:.*]] = tile.shared : memref<128x16xf16, strided<[24, 1]>
// CHECK: %[[B:.*]] = tile.shared
// CHECK-NOT: tile.shared
// CHECK: tile.load %arg0{{.*}} {transposed} : {{.*}} -> tensor<64x16xf16, #tile.simt<lanes = [32, 4]
// CHECK: scf.for
// CHECK: %[[L:.*]] = tile.load %[[A]]{{.*}} -> tensor<64x4xf16, [[LEFT]]>
// CHECK: %[[WL:.*]] = arith.extf %[[L]]
// CHECK: %[[R:.*]] = tile.load %[[B]]{{.*}} -> tensor<64x4xf16, [[TURNED]]>
// CHECK: %[[WR:.*]] = arith.extf %[[R]]
// CHECK: tile.dot %[[WL]], %[[WR]], %{{.*}} {transpose_rhs} : {{.*}} -> tensor<64x64xf32, #tile.simt<lanes = [16, 8], strides = [8, 1], vector = 1>>
// CHECK: scf.yield
// CHECK: tile.wait 0
// CHECK: tile.load %arg1
// CHECK: tile.store %{{.*}}, %[[A]]
// CHECK: scf.for
tile.func @turned(%a: memref<256x64xf16>, %b: memref<64x256xf16>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c256 = arith.constant 256 : index
  %first = scf.for %k = %c0 to %c256 step %c16 iter_args(%state = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %a[%k, %c0] {transposed} : memref<256x64xf16> -> tensor<64x16xf16>
    %y = tile.load %b[%c0, %k] : memref<64x256xf16> -> tensor<64x16xf16>
    %wx = arith.extf %x : tensor<64x16xf16> to tensor<64x16xf32>
    %wy = arith.extf %y : tensor<64x16xf16> to tensor<64x16xf32>
    %next = tile.dot %wx, %wy, %state {transpose_rhs} : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %second = scf.for %k = %c0 to %c256 step %c16 iter_args(%state = %first) -> (tensor<64x64xf32>) {
    %y = tile.load %b[%c0, %k] : memref<64x256xf16> -> tensor<64x16xf16>
    %wy = arith.extf %y : tensor<64x16xf16> to tensor<64x16xf32>
    %next = tile.dot %wy, %wy, %state {transpose_rhs} : tensor<64x16xf32>, tensor<64x16xf32> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %second, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// All lanes along a row hold its sum, whether or not a matmul decides how tiles are distributed.
// CHECK-LABEL: tile.func @sums
// CHECK: %[[X:.*]] = tile.load %arg0{{.*}} -> tensor<32x128xf32, [[SUMS]]>
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[X]] dim 1 : {{.*}} -> tensor<32x1xf32, [[SUMS]]>
// CHECK: tile.broadcast %[[SUM]] : {{.*}} -> tensor<32x16xf32, #tile.simt<lanes = [16, 8], strides = [8, 1], vector = 2>>
tile.func @sums(%a: memref<32x128xf32>, %c: memref<32x16xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<32x128xf32> -> tensor<32x128xf32>
  %sum = tile.reduce sum %x dim 1 : tensor<32x128xf32> -> tensor<32x1xf32>
  %all = tile.broadcast %sum : tensor<32x1xf32> -> tensor<32x16xf32>
  tile.store %all, %c[%c0, %c0] : tensor<32x16xf32>, memref<32x16xf32>
  tile.return
}
