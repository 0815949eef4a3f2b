// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=vulkan:nvidia}))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=vulkan:portable}))' | FileCheck %s --check-prefix=BLOCKS

// The first tiles are in the rings when the loop starts. Each iteration waits for all lanes, loads the next tiles,
// multiplies the tiles in the rings, and writes the next ones beside them. The last iteration loads its own tiles
// again.
// CHECK-LABEL: tile.func @product
tile.func @product(%a: memref<64x250xf16>, %b: memref<250x64xf16>, %c: memref<64x64xf32>, %n: index)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  // CHECK-DAG: %[[LEFT:.*]] = tile.shared : memref<128x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>
  // CHECK-DAG: %[[RIGHT:.*]] = tile.shared : memref<64x64xf16, strided<[72, 1]>, #gpu.address_space<workgroup>>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c250 = arith.constant 250 : index
  // CHECK: %[[A:.*]] = tile.load %{{.*}} columns(%{{.*}}) : memref<64x250xf16> -> tensor<64x32xf16>
  // CHECK: %[[B:.*]] = tile.load %{{.*}} rows(%{{.*}}) : memref<250x64xf16> -> tensor<32x64xf16>
  // CHECK: tile.store %[[A]], %[[LEFT]]
  // CHECK: tile.store %[[B]], %[[RIGHT]]
  // CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%{{.*}}, %[[CURRENT:.*]] = %{{.*}})
  // CHECK: tile.wait 0
  // CHECK: %[[NEXT:.*]] = arith.addi %[[K]]
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[NEXT]]
  // CHECK: %[[AT:.*]] = arith.select %[[INSIDE]], %[[NEXT]], %[[K]]
  // CHECK: %[[A2:.*]] = tile.load %{{.*}}[%{{.*}}, %[[AT]]] columns
  // CHECK: %[[B2:.*]] = tile.load %{{.*}}[%[[AT]], %{{.*}}] rows
  // CHECK: %[[ROW:.*]] = arith.muli %[[CURRENT]], %c64
  // CHECK: %[[X:.*]] = tile.load %[[LEFT]][%[[ROW]], %{{.*}}] {any_padding} : {{.*}} -> tensor<64x32xf16>
  // CHECK: %[[Y:.*]] = tile.load %[[RIGHT]]{{.*}} {any_padding, transposed} : {{.*}} -> tensor<64x32xf16>
  // CHECK: tile.dot %[[X]], %[[Y]]
  // CHECK: %[[OTHER:.*]] = arith.subi %c1{{.*}}, %[[CURRENT]]
  // CHECK: tile.store %[[A2]], %[[LEFT]]
  // CHECK: tile.store %[[B2]], %[[RIGHT]]
  // CHECK: scf.yield %{{.*}}, %[[OTHER]]
  %sum = scf.for %k = %c0 to %c250 step %c32 iter_args(%state = %zero) -> tensor<64x64xf32> {
    %x = tile.load %a[%c0, %k] columns(%c250) : memref<64x250xf16> -> tensor<64x32xf16>
    %y = tile.load %b[%k, %c0] rows(%n) {transposed} : memref<250x64xf16> -> tensor<64x32xf16>
    %next = tile.dot %x, %y, %state {transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// One ring serves both operands if they are the same part of a matrix.
// CHECK-LABEL: tile.func @square
// CHECK-COUNT-1: tile.shared
// CHECK-NOT: tile.shared
tile.func @square(%a: memref<64x64xf16>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %sum = scf.for %k = %c0 to %c64 step %c32 iter_args(%state = %zero) -> tensor<64x64xf32> {
    %x = tile.load %a[%c0, %k] : memref<64x64xf16> -> tensor<64x32xf16>
    %y = tile.load %a[%c0, %k] : memref<64x64xf16> -> tensor<64x32xf16>
    %next = tile.dot %x, %y, %state {transpose_rhs} : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// In blocks a ring holds tiles as they are loaded, so a transposed load has a ring of its own.
// CHECK-LABEL: tile.func @turned
// BLOCKS-LABEL: tile.func @turned
// BLOCKS-COUNT-2: tile.shared
tile.func @turned(%a: memref<64x64xf32>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %sum = scf.for %k = %c0 to %c64 step %c32 iter_args(%state = %zero) -> tensor<32x32xf32> {
    %x = tile.load %a[%k, %k] : memref<64x64xf32> -> tensor<32x32xf32>
    %y = tile.load %a[%k, %k] {transposed} : memref<64x64xf32> -> tensor<32x32xf32>
    %next = tile.dot %x, %y, %state : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
    scf.yield %next : tensor<32x32xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<32x32xf32>, memref<64x64xf32>
  tile.return
}
