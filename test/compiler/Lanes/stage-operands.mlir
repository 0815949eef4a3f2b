// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=cuda:sm_80}))' --split-input-file | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-stage-operands{target=cuda:sm_90a}))' --split-input-file | FileCheck %s --check-prefix=WARPGROUP

// Three tiles are on their way when the loop starts. Each iteration waits for the oldest and reads it from the ring.
// Then it copies a tile, three iterations ahead, over the tile of the previous iteration.
// CHECK-LABEL: tile.func @product
tile.func @product(%a: memref<64x256xbf16>, %b: memref<256x64xbf16>, %c: memref<64x64xf32>, %n: index)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  // CHECK-DAG: %[[LEFT:.*]] = tile.shared : memref<256x32xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK-DAG: %[[RIGHT:.*]] = tile.shared : memref<128x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  // CHECK: scf.if
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %[[LEFT]][%{{.*}}] count 64
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) to %[[RIGHT]][%{{.*}}] count 32
  // CHECK: tile.commit
  // CHECK: scf.if
  // CHECK: tile.commit
  // CHECK: scf.if
  // CHECK: tile.commit
  // CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%{{.*}}, %[[CURRENT:.*]] = %{{.*}}, %[[AHEAD:.*]] = %{{.*}})
  // CHECK: tile.wait 2
  // CHECK: %[[ROW:.*]] = arith.muli %[[CURRENT]]
  // CHECK: %[[X:.*]] = tile.load %[[LEFT]][%[[ROW]], %{{.*}}] {any_padding} : {{.*}} -> tensor<64x32xbf16>
  // CHECK: %[[Y:.*]] = tile.load %[[RIGHT]][{{.*}}] {any_padding, transposed} : {{.*}} -> tensor<64x32xbf16>
  // CHECK: tile.dot %[[X]], %[[Y]]
  // CHECK: %[[LATER:.*]] = arith.addi
  // CHECK: %[[STILL:.*]] = arith.addi %[[LATER]]
  // CHECK: %[[LATEST:.*]] = arith.addi %[[STILL]]
  // CHECK: scf.if
  // CHECK: arith.muli %[[AHEAD]]
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %[[LATEST]]] to %[[LEFT]]
  // CHECK: tile.commit
  %sum = scf.for %k = %c0 to %c256 step %c32 iter_args(%state = %zero) -> tensor<64x64xf32> {
    %x = tile.load %a[%c0, %k] : memref<64x256xbf16> -> tensor<64x32xbf16>
    %y = tile.load %b[%k, %c0] rows(%n) {transposed} : memref<256x64xbf16> -> tensor<64x32xbf16>
    %next = tile.dot %x, %y, %state {transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// -----

// Rows that do not begin at multiples of 16 bytes are read in place.
// CHECK-LABEL: tile.func @odd
// CHECK-NOT: tile.shared
// CHECK: tile.load %{{.*}} : memref<64x250xbf16>
tile.func @odd(%a: memref<64x250xbf16>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c250 = arith.constant 250 : index
  %sum = scf.for %k = %c0 to %c250 step %c32 iter_args(%state = %zero) -> tensor<64x64xf32> {
    %x = tile.load %a[%c0, %k] columns(%c250) : memref<64x250xbf16> -> tensor<64x32xbf16>
    %next = tile.dot %x, %x, %state {transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// -----

// A tile that is the same in all iterations is copied once. A column of numbers for a tile's rows also comes through a
// ring. If three tiles do not fit, a ring has two, and the copy comes first.
// CHECK-LABEL: tile.func @attention
// CHECK-DAG: %[[Q:.*]] = tile.shared : memref<128x128xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[K:.*]] = tile.shared : memref<256x128xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[N:.*]] = tile.shared : memref<256x1xf32, #gpu.address_space<workgroup>>
// CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %[[Q]][%{{.*}}] count 128
// CHECK: tile.copy %{{.*}} to %[[K]][%{{.*}}] count 128
// CHECK: tile.copy %{{.*}} to %[[N]][%{{.*}}] count 128
// CHECK: scf.for
// CHECK: tile.wait 0
// CHECK-NOT: to %[[Q]]
// CHECK: tile.copy %{{.*}} to %[[K]]
// CHECK: tile.commit
// CHECK: tile.load %[[Q]][%c0{{.*}}, %c0{{.*}}]
// CHECK: tile.load %[[K]]
// CHECK: tile.load %[[N]][%{{.*}}, %{{.*}}] {any_padding, transposed} : {{.*}} -> tensor<1x128xf32>
tile.func @attention(%q: memref<128x128xbf16>, %k: memref<256x128xbf16>, %n: memref<256x4xf32>, %y: memref<128x128xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %sum = scf.for %i = %c0 to %c256 step %c128 iter_args(%state = %zero) -> tensor<128x128xf32> {
    %a = tile.load %q[%c0, %c0] {any_padding} : memref<128x128xbf16> -> tensor<128x128xbf16>
    %b = tile.load %k[%i, %c0] {any_padding} : memref<256x128xbf16> -> tensor<128x128xbf16>
    %p = tile.dot %a, %b, %state {transpose_rhs} : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %r = tile.load %n[%i, %c1] {any_padding, transposed} : memref<256x4xf32> -> tensor<1x128xf32>
    %w = tile.broadcast %r : tensor<1x128xf32> -> tensor<128x128xf32>
    %s = arith.addf %p, %w : tensor<128x128xf32>
    scf.yield %s : tensor<128x128xf32>
  }
  tile.store %sum, %y[%c0, %c0] : tensor<128x128xf32>, memref<128x128xf32>
  tile.return
}

// -----

// A tile that is the same in all iterations, with several rows of the tile in one row of the matrix, is copied once.
// CHECK-LABEL: tile.func @members
// CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] to %{{.*}}[%{{.*}}] count 64 {apart = 32 : i64, members = 3 : i64} : memref<?x96xbf16>
// CHECK: scf.for
tile.func @members(%a: memref<?x96xbf16>, %b: memref<256x32xbf16>, %c: memref<64x64xf32>, %n: index)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %sum = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %x = tile.load %a[%n, %c0] {any_padding, members = 3, apart = 32} : memref<?x96xbf16> -> tensor<64x32xbf16>
    %y = tile.load %b[%k, %c0] {any_padding} : memref<256x32xbf16> -> tensor<64x32xbf16>
    %d = tile.dot %x, %y, %acc {transpose_rhs} : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// -----

// A warpgroup's matmul overlaps with that of the next iteration, so copies begin two iterations ahead, over the tile of
// the second last iteration. The loop runs at least once, so that no other instruction touches its sums. Operands past
// the end are zero.
// WARPGROUP-LABEL: tile.func @warpgroup
// WARPGROUP: %[[LEFT:.*]] = tile.shared : memref<256x64xbf16, #tile.swizzled<panel_rows = 64>
// WARPGROUP: %[[RIGHT:.*]] = tile.shared : memref<256x128xbf16, #tile.swizzled<panel_rows = 64>
// WARPGROUP: %[[END:.*]] = arith.maxsi %[[N:.*]], %{{.*}}
// WARPGROUP: %[[TURNS:.*]] = arith.divui
// WARPGROUP: %[[MORE:.*]] = arith.maxsi %[[TURNS]], %c1
// WARPGROUP: arith.cmpi slt, %{{.*}}, %[[END]]
// WARPGROUP-COUNT-2: tile.commit
// WARPGROUP: %[[SUM:.*]]:3 = scf.for %{{.*}} = %{{.*}} to %[[MORE]] step %{{.*}} iter_args(%[[STATE:.*]] = %{{.*}}, %[[CURRENT:.*]] = %{{.*}}, %[[AHEAD:.*]] = %{{.*}})
// WARPGROUP: tile.wait 1
// WARPGROUP: %[[NEXT:.*]] = tile.warpgroup_dot %[[STATE]], %[[LEFT]][%{{.*}}], %[[RIGHT]][%{{.*}}] depth 64 : memref
// WARPGROUP: scf.if
// WARPGROUP: arith.muli %[[AHEAD]]
// WARPGROUP: tile.copy {{.*}} columns(%[[N]]) to %[[LEFT]]
// WARPGROUP: tile.copy {{.*}} rows(%[[N]]) to %[[RIGHT]]
// WARPGROUP: tile.commit
// WARPGROUP-NEXT: tile.warpgroup_wait 1
// WARPGROUP: scf.yield %[[NEXT]]
// WARPGROUP: %[[DONE:.*]] = tile.warpgroup_wait 0, %[[SUM]]#0
// WARPGROUP: tile.store %[[DONE]]
tile.func @warpgroup(%a: memref<64x256xbf16>, %b: memref<?x128xbf16>, %c: memref<64x128xf32>, %n: index)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %sum = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<64x128xf32> {
    %x = tile.load %a[%c0, %k] columns(%n) : memref<64x256xbf16> -> tensor<64x64xbf16>
    %y = tile.load %b[%k, %c0] rows(%n) {transposed} : memref<?x128xbf16> -> tensor<128x64xbf16>
    %d = tile.dot %x, %y, %acc {transpose_rhs} : tensor<64x64xbf16>, tensor<128x64xbf16> -> tensor<64x128xf32>
    scf.yield %d : tensor<64x128xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x128xf32>, memref<64x128xf32>
  tile.return
}

// -----

// Each subgroup multiplies by itself if the right operand has rows of 32 elements, if sums change between matmuls, or
// if there are fewer subgroups than a warpgroup has.
// WARPGROUP-LABEL: tile.func @narrow
// WARPGROUP-NOT: tile.warpgroup_dot
// WARPGROUP: tile.dot
tile.func @narrow(%a: memref<64x256xbf16>, %b: memref<256x32xbf16>, %c: memref<64x32xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %sum = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> tensor<64x32xf32> {
    %x = tile.load %a[%c0, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %y = tile.load %b[%k, %c0] {transposed} : memref<256x32xbf16> -> tensor<32x64xbf16>
    %d = tile.dot %x, %y, %acc {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    scf.yield %d : tensor<64x32xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x32xf32>, memref<64x32xf32>
  tile.return
}

// WARPGROUP-LABEL: tile.func @changed
// WARPGROUP-NOT: tile.warpgroup_dot
// WARPGROUP: tile.return
tile.func @changed(%a: memref<64x256xbf16>, %b: memref<64x256xbf16>, %c: memref<64x64xf32>)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %sum = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
    %x = tile.load %a[%c0, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %y = tile.load %b[%c0, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %acc {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %e = arith.negf %d : tensor<64x64xf32>
    scf.yield %e : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// WARPGROUP-LABEL: tile.func @few
// WARPGROUP-NOT: tile.warpgroup_dot
// WARPGROUP: tile.return
tile.func @few(%a: memref<64x256xbf16>, %b: memref<64x256xbf16>, %c: memref<64x64xf32>)
    attributes {workgroup = 64 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %sum = scf.for %k = %c0 to %c256 step %c64 iter_args(%acc = %zero) -> tensor<64x64xf32> {
    %x = tile.load %a[%c0, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %y = tile.load %b[%c0, %k] : memref<64x256xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %x, %y, %acc {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}
