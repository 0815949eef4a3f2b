// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-specialize-warps,canonicalize,cse))' --split-input-file | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-specialize-warps{producers=0}))' --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: mbarrier

// Two pairs of producers fill a ring of four tiles in turn. One producer of a pair copies the left operand, the other
// the right. They wait until both warpgroups have released a tile; the mbarriers of the two are four apart. The
// warpgroups wait for a tile, and release the previous one. The second warpgroup begins once the first has released a
// tile. Steps are counted over all tiles of the result.
// CHECK-LABEL: tile.func @product
// CHECK-SAME: producers = 128 : i64
// CHECK-DAG: %[[LEFT:.*]] = tile.shared : memref<1024x64xbf16, #tile.swizzled<panel_rows = 256>
// CHECK-DAG: %[[RIGHT:.*]] = tile.shared : memref<256x128xbf16, #tile.swizzled<panel_rows = 64>
// CHECK-DAG: %[[FULL:.*]] = tile.shared : memref<4x2xi32
// CHECK-DAG: %[[EMPTY:.*]] = tile.shared : memref<8x2xi32
// CHECK-DAG: tile.mbarrier_init %[[FULL]] arrivals 2
// CHECK-DAG: tile.mbarrier_init %[[EMPTY]] arrivals 4
// CHECK: gpu.barrier
// CHECK: %[[COUNT:.*]] = gpu.grid_dim x
// CHECK: %[[PRODUCES:.*]] = arith.cmpi eq, %{{.*}}, %c2
// CHECK: scf.if %[[PRODUCES]] {
// CHECK-NEXT: tile.registers 48
// CHECK:   %[[NUMBER:.*]] = arith.subi %{{.*}}, %c8
// CHECK:   %[[PAIR:.*]] = arith.divui %[[NUMBER]], %c2
// CHECK:   scf.for %[[TILE:.*]] = %{{.*}} to %c100 step %[[COUNT]] iter_args(%[[DONE:.*]] = %c0) -> (index) {
// CHECK:     scf.for %[[I:.*]] = %{{.*}} to %c16 step %c2 {
// CHECK:       %[[STEP:.*]] = arith.addi %[[DONE]], %[[I]]
// CHECK:       %[[SLOT:.*]] = arith.remui %[[STEP]], %c4
// CHECK:       tile.mbarrier_wait %[[EMPTY]][%[[SLOT]]] parity
// CHECK:       %[[OTHER:.*]] = arith.addi %[[SLOT]], %c4
// CHECK:       tile.mbarrier_wait %[[EMPTY]][%[[OTHER]]] parity
// CHECK:       scf.if
// CHECK:         tile.copy %arg0[%{{.*}}] to %[[LEFT]][%{{.*}}] count 256 {of_subgroup}
// CHECK:       } else {
// CHECK:         tile.copy %arg1[%{{.*}}] to %[[RIGHT]][%{{.*}}] count 64 {of_subgroup}
// CHECK:       tile.commit
// CHECK-NEXT:  tile.mbarrier_arrive %[[FULL]][%[[SLOT]]] {copied}
// CHECK:     %[[NEXT:.*]] = arith.addi %[[DONE]], %c16
// CHECK:     scf.yield %[[NEXT]]
// CHECK: } else {
// CHECK-NEXT: tile.registers 224 more
// CHECK:   scf.for %{{.*}} iter_args(%[[DONE:.*]] = %c0) -> (index) {
// CHECK:     scf.if
// CHECK:       tile.mbarrier_wait %[[EMPTY]][
// CHECK:     %[[SUM:.*]] = scf.for %[[I:.*]] = %c0 to %c16 step %c1 iter_args(%[[A:.*]] = %{{.*}})
// CHECK:       tile.mbarrier_wait %[[FULL]][
// CHECK:       %[[B:.*]] = tile.warpgroup_dot %[[A]], %[[LEFT]][%{{.*}}], %[[RIGHT]][%{{.*}}] depth 64
// CHECK:       tile.warpgroup_wait 1
// CHECK:       %[[LATER:.*]] = arith.cmpi ne, %[[I]], %c0
// CHECK:       tile.mbarrier_arrive %[[EMPTY]][%{{.*}}] if %[[LATER]]
// CHECK:       scf.yield %[[B]]
// CHECK:     %[[WHOLE:.*]] = tile.warpgroup_wait 0, %[[SUM]]
// CHECK:     tile.mbarrier_arrive %[[EMPTY]][%{{.*}}] :
// CHECK:     tile.store %[[WHOLE]], %arg2
tile.func @product(%x: memref<25600x1024xbf16>, %w: memref<1024x128xbf16>, %y: memref<25600x128xf32>)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %count = gpu.grid_dim x
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %first = gpu.block_id x
  scf.for %tile = %first to %c100 step %count {
    %row = arith.muli %tile, %c256 : index
    %sum = scf.for %k = %c0 to %c1024 step %c64 iter_args(%a = %zero) -> (tensor<256x128xf32>) {
      %l = tile.load %x[%row, %k] {any_padding} : memref<25600x1024xbf16> -> tensor<256x64xbf16>
      %r = tile.load %w[%k, %c0] {any_padding, transposed} : memref<1024x128xbf16> -> tensor<128x64xbf16>
      %b = tile.dot %l, %r, %a {transpose_rhs} : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
      scf.yield %b : tensor<256x128xf32>
    }
    tile.store %sum, %y[%row, %c0] : tensor<256x128xf32>, memref<25600x128xf32>
  }
  tile.return
}

// -----

// If all lanes must wait for each other in an epilogue, there are no producers.
// CHECK-LABEL: tile.func @meets
// CHECK-NOT: mbarrier
tile.func @meets(%x: memref<25600x1024xbf16>, %w: memref<1024x128xbf16>, %y: memref<25600x128xf32>)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %count = gpu.grid_dim x
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %first = gpu.block_id x
  scf.for %tile = %first to %c100 step %count {
    %row = arith.muli %tile, %c256 : index
    %sum = scf.for %k = %c0 to %c1024 step %c64 iter_args(%a = %zero) -> (tensor<256x128xf32>) {
      %l = tile.load %x[%row, %k] {any_padding} : memref<25600x1024xbf16> -> tensor<256x64xbf16>
      %r = tile.load %w[%k, %c0] {any_padding, transposed} : memref<1024x128xbf16> -> tensor<128x64xbf16>
      %b = tile.dot %l, %r, %a {transpose_rhs} : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
      scf.yield %b : tensor<256x128xf32>
    }
    tile.wait 0
    tile.store %sum, %y[%row, %c0] : tensor<256x128xf32>, memref<25600x128xf32>
  }
  tile.return
}

// -----

// All lanes may write to device memory before their work is divided.
// CHECK-LABEL: tile.func @writes
// CHECK-SAME: producers = 128 : i64
tile.func @writes(%x: memref<25600x1024xbf16>, %w: memref<1024x128xbf16>, %y: memref<25600x128xf32>)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %count = gpu.grid_dim x
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %row = arith.constant dense<0.0> : tensor<1x128xf32>
  %first = gpu.block_id x
  scf.for %i = %c0 to %c64 step %c1 {
    tile.store %row, %y[%i, %c0] : tensor<1x128xf32>, memref<25600x128xf32>
  }
  scf.for %tile = %first to %c100 step %count {
    %from = arith.muli %tile, %c256 : index
    %sum = scf.for %k = %c0 to %c1024 step %c64 iter_args(%a = %zero) -> (tensor<256x128xf32>) {
      %l = tile.load %x[%from, %k] {any_padding} : memref<25600x1024xbf16> -> tensor<256x64xbf16>
      %r = tile.load %w[%k, %c0] {any_padding, transposed} : memref<1024x128xbf16> -> tensor<128x64xbf16>
      %b = tile.dot %l, %r, %a {transpose_rhs} : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
      scf.yield %b : tensor<256x128xf32>
    }
    tile.store %sum, %y[%from, %c0] : tensor<256x128xf32>, memref<25600x128xf32>
  }
  tile.return
}

// -----

// Memory that a workgroup shares would need a wait.
// CHECK-LABEL: tile.func @shares
// CHECK-NOT: mbarrier
tile.func @shares(%x: memref<25600x1024xbf16>, %w: memref<1024x128xbf16>, %y: memref<25600x128xf32>)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %count = gpu.grid_dim x
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %row = arith.constant dense<0.0> : tensor<1x128xf32>
  %s = tile.shared : memref<64x128xf32, #gpu.address_space<workgroup>>
  %first = gpu.block_id x
  scf.for %i = %c0 to %c64 step %c1 {
    tile.store %row, %s[%i, %c0] : tensor<1x128xf32>, memref<64x128xf32, #gpu.address_space<workgroup>>
  }
  scf.for %tile = %first to %c100 step %count {
    %from = arith.muli %tile, %c256 : index
    %sum = scf.for %k = %c0 to %c1024 step %c64 iter_args(%a = %zero) -> (tensor<256x128xf32>) {
      %l = tile.load %x[%from, %k] {any_padding} : memref<25600x1024xbf16> -> tensor<256x64xbf16>
      %r = tile.load %w[%k, %c0] {any_padding, transposed} : memref<1024x128xbf16> -> tensor<128x64xbf16>
      %b = tile.dot %l, %r, %a {transpose_rhs} : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
      scf.yield %b : tensor<256x128xf32>
    }
    tile.store %sum, %y[%from, %c0] : tensor<256x128xf32>, memref<25600x128xf32>
  }
  tile.return
}

// -----

// The number of steps is known only at run time. There is at least one, whose operands are zeros past the end.
// CHECK-LABEL: tile.func @counted
// CHECK-SAME: producers = 128 : i64
// CHECK: arith.maxsi
// CHECK: tile.copy %{{.*}} rows(%arg3) to
// CHECK: tile.copy %{{.*}} rows(%arg3) to
// CHECK: } else {
// CHECK: arith.maxsi
tile.func @counted(%x: memref<?x25600xbf16>, %w: memref<?x128xbf16>, %y: memref<25600x128xf32>, %depth: index)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %count = gpu.grid_dim x
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %first = gpu.block_id x
  scf.for %tile = %first to %c100 step %count {
    %row = arith.muli %tile, %c256 : index
    %sum = scf.for %k = %c0 to %depth step %c64 iter_args(%a = %zero) -> (tensor<256x128xf32>) {
      %l = tile.load %x[%k, %row] rows(%depth) {transposed} : memref<?x25600xbf16> -> tensor<256x64xbf16>
      %r = tile.load %w[%k, %c0] rows(%depth) {transposed} : memref<?x128xbf16> -> tensor<128x64xbf16>
      %b = tile.dot %l, %r, %a {transpose_rhs} : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
      scf.yield %b : tensor<256x128xf32>
    }
    tile.store %sum, %y[%row, %c0] : tensor<256x128xf32>, memref<25600x128xf32>
  }
  tile.return
}

// -----

// Matmuls that share a launch: producers also select the matrix of each tile.
// CHECK-LABEL: tile.func @joined
// CHECK-SAME: heddle.matmuls = 2 : i64
// CHECK: tile.registers 48
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.copy %arg0[
// CHECK: %[[W:.*]] = arith.select %{{.*}}, %arg1, %arg2 : memref<1024x128xbf16>
// CHECK: tile.copy %[[W]][
// CHECK: tile.registers 224 more
tile.func @joined(%x: memref<25600x1024xbf16>, %w: memref<1024x128xbf16>, %v: memref<1024x128xbf16>, %y: memref<51200x128xf32>)
    attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %c200 = arith.constant 200 : index
  %count = gpu.grid_dim x
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %zero = arith.constant dense<0.0> : tensor<256x128xf32>
  %first = gpu.block_id x
  scf.for %tile = %first to %c200 step %count {
    %isFirst = arith.cmpi ult, %tile, %c100 : index
    %own = arith.select %isFirst, %w, %v : memref<1024x128xbf16>
    %inMatmul = arith.remui %tile, %c100 : index
    %row = arith.muli %inMatmul, %c256 : index
    %to = arith.muli %tile, %c256 : index
    %sum = scf.for %k = %c0 to %c1024 step %c64 iter_args(%a = %zero) -> (tensor<256x128xf32>) {
      %l = tile.load %x[%row, %k] {any_padding} : memref<25600x1024xbf16> -> tensor<256x64xbf16>
      %r = tile.load %own[%k, %c0] {any_padding, transposed} : memref<1024x128xbf16> -> tensor<128x64xbf16>
      %b = tile.dot %l, %r, %a {transpose_rhs} : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
      scf.yield %b : tensor<256x128xf32>
    }
    tile.store %sum, %y[%to, %c0] : tensor<256x128xf32>, memref<51200x128xf32>
  }
  tile.return
}
