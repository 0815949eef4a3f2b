// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-alternate-warpgroups,cse))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-alternate-warpgroups{warpgroup=2}))' | FileCheck %s --check-prefix=OTHER

// A ring of three tiles: a step reads one and copies the next. The first step, including its softmax, comes before the
// loop. In the loop the last step's sum and the next scores are multiplied together. The second warpgroup waits where
// the first one begins. All lanes meet between matmuls and softmax. The last sum comes after the loop, once the first
// warpgroup has met the second for the last time.
// CHECK-LABEL: tile.func @forward
// CHECK: %[[OWN:.*]] = tile.shared : memref<128x64xbf16, #tile.swizzled<panel_rows = 128>
// CHECK: %[[KEYS:.*]] = tile.shared : memref<192x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK: %[[VALUES:.*]] = tile.shared : memref<192x64xbf16, #tile.swizzled<panel_rows = 64>
// CHECK: scf.if %{{.*}} -> (tensor<128x64xf32>, index)
// CHECK:   tile.wait 0
// CHECK:   tile.commit
// CHECK:   %[[FIRST:.*]] = tile.warpgroup_dot %{{.*}}, %[[OWN]][%c0], %[[KEYS]][%{{.*}}]
// CHECK-NOT: tile.warpgroup_dot
// CHECK:   %[[DONE:.*]] = tile.warpgroup_wait 0, %[[FIRST]]
// CHECK:   %[[POWERS:.*]] = math.exp2 %[[DONE]]
// CHECK:   %[[WEIGHTS:.*]] = arith.truncf %[[POWERS]]
// CHECK:   gpu.shuffle  idx
// CHECK:   scf.if
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: }
// CHECK:   %[[LOOP:.*]]:4 = scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[LAST:.*]] = %[[WEIGHTS]], %[[ROW:.*]] = %{{.*}})
// CHECK:     tile.wait 0
// CHECK:     tile.commit
// CHECK:     %[[SCORES:.*]] = tile.warpgroup_dot %{{.*}}, %[[OWN]][%c0], %[[KEYS]][%{{.*}}]
// CHECK-NEXT: %[[MORE:.*]] = tile.warpgroup_dot %[[SUM]], %[[LAST]], %[[VALUES]][%[[ROW]]]
// CHECK:     %[[READY:.*]] = tile.warpgroup_wait 0, %[[SCORES]]
// CHECK-NEXT: tile.wait 0
// CHECK:     %[[NEXT:.*]] = math.exp2 %[[READY]]
// CHECK:     %[[ADDED:.*]] = tile.warpgroup_wait 0, %[[MORE]]
// CHECK:     %[[RESCALED:.*]] = arith.mulf %[[ADDED]], %[[NEXT]]
// CHECK:     %[[ROUNDED:.*]] = arith.truncf %[[NEXT]]
// CHECK:     scf.yield %[[RESCALED]], %{{.*}}, %[[ROUNDED]]
// CHECK:   scf.if
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
// CHECK:   %[[ALL:.*]] = tile.warpgroup_dot %[[LOOP]]#0, %[[LOOP]]#2, %[[VALUES]][%[[LOOP]]#3]
// CHECK:   tile.warpgroup_wait 0, %[[ALL]]
// CHECK: } else {
// CHECK: tile.store

// With the option's smaller warpgroups the kernel has four of them, and does not change.
// OTHER-LABEL: tile.func @forward
// OTHER-NOT: gpu.barrier
// OTHER: tile.store
tile.func @forward(%k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %r: memref<128x64xf32>, %keys: index) attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %own = tile.shared : memref<128x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>
  %kring = tile.shared : memref<192x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %vring = tile.shared : memref<192x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %sums, %last = scf.for %j = %c0 to %keys step %c64 iter_args(%sum = %zero, %current = %c0) -> (tensor<128x64xf32>, index) {
    tile.wait 0
    %row = arith.muli %current, %c64 : index
    tile.copy %k[%j, %c0] to %kring[%row] count 64 : memref<?x64xbf16> to memref<192x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
    tile.copy %v[%j, %c0] to %vring[%row] count 64 : memref<?x64xbf16> to memref<192x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
    tile.commit
    %s = tile.warpgroup_dot %zero, %own[%c0], %kring[%row] depth 64 {transpose_rhs}
        : memref<128x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>, memref<192x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<128x64xf32>
    %scores = tile.warpgroup_wait 0, %s : tensor<128x64xf32> -> tensor<128x64xf32>
    %p = math.exp2 %scores : tensor<128x64xf32>
    %rescaled = arith.mulf %sum, %p : tensor<128x64xf32>
    %rounded = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xbf16>
    %m = tile.warpgroup_dot %rescaled, %rounded, %vring[%row] depth 64
        : tensor<128x64xbf16>, memref<192x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<128x64xf32>
    %after = arith.addi %current, %c1 : index
    %isLast = arith.cmpi eq, %after, %c3 : index
    %next = arith.select %isLast, %c0, %after : index
    %more = tile.warpgroup_wait 0, %m : tensor<128x64xf32> -> tensor<128x64xf32>
    scf.yield %more, %next : tensor<128x64xf32>, index
  }
  tile.store %sums, %r[%c0, %c0] : tensor<128x64xf32>, memref<128x64xf32>
  tile.return
}

// A ring of two tiles has none for the warpgroup that is behind.
// CHECK-LABEL: tile.func @no_room
// CHECK-NOT: gpu.barrier
// CHECK: tile.return
tile.func @no_room(%k: memref<?x64xbf16>, %r: memref<128x64xf32>, %keys: index) attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %own = tile.shared : memref<128x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>
  %ring = tile.shared : memref<128x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %sums = scf.for %j = %c0 to %keys step %c64 iter_args(%sum = %zero) -> (tensor<128x64xf32>) {
    tile.wait 0
    %s = tile.warpgroup_dot %zero, %own[%c0], %ring[%c0] depth 64 {transpose_rhs}
        : memref<128x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>, memref<128x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<128x64xf32>
    %scores = tile.warpgroup_wait 0, %s : tensor<128x64xf32> -> tensor<128x64xf32>
    %rounded = arith.truncf %scores : tensor<128x64xf32> to tensor<128x64xbf16>
    %m = tile.warpgroup_dot %sum, %rounded, %ring[%c0] depth 64
        : tensor<128x64xbf16>, memref<128x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<128x64xf32>
    %more = tile.warpgroup_wait 0, %m : tensor<128x64xf32> -> tensor<128x64xf32>
    scf.yield %more : tensor<128x64xf32>
  }
  tile.store %sums, %r[%c0, %c0] : tensor<128x64xf32>, memref<128x64xf32>
  tile.return
}
