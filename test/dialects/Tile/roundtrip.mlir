// RUN: heddle-opt %s | heddle-opt | FileCheck %s

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>

// CHECK-LABEL: tile.func @memory(%{{.*}}: memref<?x64xf32>, %{{.*}}: memref<?x1xi32>, %{{.*}}: index) attributes {mapping = #tile.mapping<columns>, vector = 4 : i64, workgroup = 8 : i64}
tile.func @memory(%a: memref<?x64xf32>, %ids: memref<?x1xi32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x64xf32> -> tensor<4x64xf32>
  %0 = tile.load %a[%c0, %c0] : memref<?x64xf32> -> tensor<4x64xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) columns(%{{.*}}) {any_padding} : memref<?x64xf32> -> tensor<4x64xf32>
  %1 = tile.load %a[%c0, %c0] rows(%n) columns(%n) {any_padding} : memref<?x64xf32> -> tensor<4x64xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] columns(%{{.*}}) {transposed} : memref<?x64xf32> -> tensor<64x4xf32>
  %2 = tile.load %a[%c0, %c0] columns(%n) {transposed} : memref<?x64xf32> -> tensor<64x4xf32>
  // CHECK: %[[IDS:.*]] = tile.load
  %rows = tile.load %ids[%c0, %c0] : memref<?x1xi32> -> tensor<4x1xi32>
  // CHECK: tile.gather %{{.*}}[%[[IDS]], %{{.*}}] columns(%{{.*}}) : memref<?x64xf32>, tensor<4x1xi32> -> tensor<4x64xf32>
  %3 = tile.gather %a[%rows, %c0] columns(%n) : memref<?x64xf32>, tensor<4x1xi32> -> tensor<4x64xf32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) : tensor<4x64xf32>, memref<?x64xf32>
  tile.store %3, %a[%c0, %c0] rows(%n) : tensor<4x64xf32>, memref<?x64xf32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) to %[[IDS]] : tensor<4x1xi32> : tensor<4x64xf32>, memref<?x64xf32>
  tile.store %3, %a[%c0, %c0] rows(%n) to %rows : tensor<4x1xi32> : tensor<4x64xf32>, memref<?x64xf32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] {packed = 4 : i64} : memref<?x1xi32> -> tensor<8x1xi32>
  %4 = tile.load %ids[%c0, %c0] {packed = 4} : memref<?x1xi32> -> tensor<8x1xi32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] {in_place, packed = 4 : i64} : memref<?x1xi32> -> tensor<8x1xi32>
  %in_place = tile.load %ids[%c0, %c0] {packed = 4, in_place} : memref<?x1xi32> -> tensor<8x1xi32>
  // CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] {repeats = 32 : i64} : memref<?x64xf32> -> tensor<4x64xf32>
  %5 = tile.load %a[%c0, %c0] {repeats = 32} : memref<?x64xf32> -> tensor<4x64xf32>
  // CHECK: %[[OF_GROUP:.*]] = tile.load %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) {any_padding, apart = 16 : i64, members = 3 : i64} : memref<?x64xf32> -> tensor<8x16xf32>
  %7 = tile.load %a[%c0, %c0] rows(%n) {any_padding, members = 3, apart = 16} : memref<?x64xf32> -> tensor<8x16xf32>
  // CHECK: tile.store %[[OF_GROUP]], %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) {apart = 16 : i64, members = 3 : i64} : tensor<8x16xf32>, memref<?x64xf32>
  tile.store %7, %a[%c0, %c0] rows(%n) {members = 3, apart = 16} : tensor<8x16xf32>, memref<?x64xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] {transposed} : memref<?x64xf32>, tensor<1x4xi32> -> tensor<64x4xf32>
  %numbers = arith.constant dense<1> : tensor<1x4xi32>
  %gathered = tile.gather %a[%numbers, %c0] {transposed} : memref<?x64xf32>, tensor<1x4xi32> -> tensor<64x4xf32>
  // CHECK: tile.lookup %{{.*}}[%{{.*}}] : memref<1x16xf32>, tensor<8x1xi32> -> tensor<8x1xf32>
  %table = memref.alloca() : memref<1x16xf32>
  %found = tile.lookup %table[%4] : memref<1x16xf32>, tensor<8x1xi32> -> tensor<8x1xf32>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] {packed = 8 : i64} : memref<?x1xi32>, tensor<4x1xi32> -> tensor<4x1xi32>
  %6 = tile.gather %ids[%rows, %c0] {packed = 8} : memref<?x1xi32>, tensor<4x1xi32> -> tensor<4x1xi32>
  // CHECK: tile.return
  tile.return
}

// CHECK-LABEL: tile.func @values
tile.func @values(%a: memref<?x64xf32>, %b: memref<?x4xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %half = arith.constant 0.5 : f32
  // CHECK: tile.splat %{{.*}} : f32 -> tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %sum = tile.splat %half : f32 -> tensor<4x64xf32, #distributed>
  %l = tile.load %b[%c0, %c0] : memref<?x4xf32> -> tensor<4x4xf32, #whole>
  %r = tile.load %a[%c0, %c0] : memref<?x64xf32> -> tensor<4x64xf32, #distributed>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x4xf32, #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>>, tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %d = tile.dot %l, %r, %sum : tensor<4x4xf32, #whole>, tensor<4x64xf32, #distributed> -> tensor<4x64xf32, #distributed>
  // CHECK: tile.dot {{.*}} {transpose_lhs}
  %t = tile.dot %l, %r, %sum {transpose_lhs} : tensor<4x4xf32, #whole>, tensor<4x64xf32, #distributed> -> tensor<4x64xf32, #distributed>
  // CHECK: tile.reduce max %{{.*}} dim 1 : tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<4x1xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %max = tile.reduce max %d dim 1 : tensor<4x64xf32, #distributed> -> tensor<4x1xf32, #distributed>
  // CHECK: tile.reduce sum
  %total = tile.reduce sum %d dim 0 : tensor<4x64xf32, #distributed> -> tensor<1x64xf32, #distributed>
  // CHECK: tile.broadcast %{{.*}} : tensor<4x1xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %wide = tile.broadcast %max : tensor<4x1xf32, #distributed> -> tensor<4x64xf32, #distributed>
  // CHECK: tile.columns %{{.*}} from 32 : tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<4x32xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %part = tile.columns %wide from 32 : tensor<4x64xf32, #distributed> -> tensor<4x32xf32, #distributed>
  // CHECK: tile.swap %{{.*}} : tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %swapped = tile.swap %wide : tensor<4x64xf32, #distributed>
  // CHECK: tile.index %{{.*}} dim 0 : tensor<4x64xi32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %i = tile.index %c0 dim 0 : tensor<4x64xi32, #distributed>
  %j = tile.index %c0 dim 1 : tensor<4x64xi32, #distributed>
  // CHECK: tile.random seed(%{{.*}}, %{{.*}}) step %{{.*}} stream %{{.*}} at(%{{.*}}, %{{.*}}) : tensor<4x64xi32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>
  %random = tile.random seed(%one, %one) step %one stream %one at(%i, %j) : tensor<4x64xi32, #distributed> -> tensor<4x64xf32, #distributed>
  // CHECK: tile.convert_layout %{{.*}} : tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>> -> tensor<4x64xf32, #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>>
  %known = tile.convert_layout %wide : tensor<4x64xf32, #distributed> -> tensor<4x64xf32, #whole>
  tile.return
}

// CHECK-LABEL: func.func @entry
func.func @entry(%x: tensor<?x64xf32>, %i: tensor<?xi32>) -> tensor<?x64xf32> {
  // CHECK: tile.launch @twice(%{{.*}}, %{{.*}}) grid [#tile.grid<"", 1, 3>, #tile.grid<"tokens", 4, 1>, #tile.grid<"", 1, 1>] sizes ["tokens"] reuse [0] :
  %0 = tile.launch @twice(%x, %i) grid [#tile.grid<"", 1, 3>, #tile.grid<"tokens", 4, 1>, #tile.grid<"", 1, 1>]
      sizes ["tokens"] reuse [0] : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

tile.func @twice(%x: memref<?x64xf32>, %i: memref<?x1xi32>, %y: memref<?x64xf32>, %tokens: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 1 : i64} {
  tile.return
}

// CHECK-LABEL: tile.func @staged
// CHECK-SAME: mapping = #tile.mapping<tensor>
tile.func @staged(%a: memref<?x64xbf16>, %n: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  // CHECK: %[[RING:.*]] = tile.shared : memref<32x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  %ring = tile.shared : memref<32x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] rows(%{{.*}}) to %[[RING]][%{{.*}}] count 16 : memref<?x64xbf16> to memref<32x64xbf16
  tile.copy %a[%c0, %c0] rows(%n) to %ring[%c0] count 16 : memref<?x64xbf16> to memref<32x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // CHECK: tile.commit
  tile.commit
  // CHECK: tile.wait 0
  tile.wait 0
  // CHECK: tile.load %[[RING]]{{.*}} : memref<32x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<16x64xbf16>
  %x = tile.load %ring[%c0, %c0] : memref<32x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<16x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  // CHECK: tile.dot {{.*}} : tensor<16x64xbf16>, tensor<16x64xbf16> -> tensor<16x16xf32>
  %y = tile.dot %x, %x, %zero {transpose_rhs} : tensor<16x64xbf16>, tensor<16x64xbf16> -> tensor<16x16xf32>
  tile.return
}

// CHECK-LABEL: tile.func @warpgroups
tile.func @warpgroups(%row: index)
    attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  // CHECK: %[[A:.*]] = tile.shared : memref<128x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %a = tile.shared : memref<128x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // CHECK: %[[B:.*]] = tile.shared : memref<256x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<256x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>
  // CHECK: tile.shared {alignment = 1024 : i64} : memref<64x64xbf16, #gpu.address_space<workgroup>>
  %plain = tile.shared {alignment = 1024} : memref<64x64xbf16, #gpu.address_space<workgroup>>
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  // CHECK: arith.constant dense<0.000000e+00> : tensor<64x128xf32, #tile.fragment<subgroups = 4, rows = 16>>
  %sixteen = arith.constant dense<0.0> : tensor<64x128xf32, #tile.fragment<subgroups = 4, rows = 16>>
  // CHECK: arith.constant dense<0.000000e+00> : tensor<64x128xf32, #tile.fragment<subgroups = 4, rows = 8>>
  %eight = arith.constant dense<0.0> : tensor<64x128xf32, #tile.fragment<subgroups = 4, rows = 8>>
  // CHECK: %[[P:.*]] = tile.warpgroup_dot %{{.*}}, %[[A]][%{{.*}}], %[[B]][%{{.*}}] depth 64 {transpose_rhs} : memref<128x64xbf16, {{.*}}>, memref<256x64xbf16, {{.*}}> -> tensor<64x128xf32>
  %p = tile.warpgroup_dot %zero, %a[%row], %b[%row] depth 64 {transpose_rhs}
      : memref<128x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>, memref<256x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>> -> tensor<64x128xf32>
  // CHECK: tile.warpgroup_dot %{{.*}}, %{{.*}}, %[[B]][%{{.*}}] depth 64 {transpose_rhs} : tensor<64x64xbf16>, memref<256x64xbf16, {{.*}}> -> tensor<64x128xf32>
  %left = arith.constant dense<0.0> : tensor<64x64xbf16>
  %r = tile.warpgroup_dot %zero, %left, %b[%row] depth 64 {transpose_rhs}
      : tensor<64x64xbf16>, memref<256x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>> -> tensor<64x128xf32>
  // CHECK: tile.warpgroup_fence %{{.*}} : tensor<64x128xf32>
  %fenced = tile.warpgroup_fence %zero : tensor<64x128xf32>
  // CHECK: tile.warpgroup_wait 1
  tile.warpgroup_wait 1
  // CHECK: tile.warpgroup_wait 0, %[[P]] : tensor<64x128xf32> -> tensor<64x128xf32>
  %q = tile.warpgroup_wait 0, %p : tensor<64x128xf32> -> tensor<64x128xf32>
  tile.return
}

// CHECK-LABEL: func.func @matrices
func.func @matrices(%t: tensor<32x16xbf16>, %m: memref<32x16xi32>, %f: memref<32x32xf32>, %i: index) {
  // CHECK: tile.pairs %{{.*}} dim 0 : tensor<32x16xbf16> -> tensor<16x16xi32>
  %a = tile.pairs %t dim 0 : tensor<32x16xbf16> -> tensor<16x16xi32>
  // CHECK: tile.pairs %{{.*}} dim 1 : tensor<32x16xbf16> -> tensor<32x8xi32>
  %b = tile.pairs %t dim 1 : tensor<32x16xbf16> -> tensor<32x8xi32>
  // CHECK: tile.matrix_load 4, %{{.*}}[%{{.*}}, %{{.*}}] : memref<32x16xi32>
  tile.matrix_load 4, %m[%i, %i] : memref<32x16xi32>
  // CHECK: tile.matrix_dot 0, 4, 6
  tile.matrix_dot 0, 4, 6
  // CHECK: tile.matrix_store 0, %{{.*}}[%{{.*}}, %{{.*}}] : memref<32x32xf32>
  tile.matrix_store 0, %f[%i, %i] : memref<32x32xf32>
  return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%n: tensor<4x32xi32>, %m: memref<?x8xi32>, %h: memref<?x16xi32>, %i: index, %l: tensor<4x8xi32>, %w: tensor<2x32xi32>, %s: tensor<4x16xi32>, %v: vector<16xi32>) {
  // CHECK: tile.store_digits %{{.*}}, %{{.*}}[%{{.*}}] bits 8 packed 4 : tensor<4x32xi32>, memref<?x8xi32>
  tile.store_digits %n, %m[%i] bits 8 packed 4 : tensor<4x32xi32>, memref<?x8xi32>
  // CHECK: tile.store_digits %{{.*}}, %{{.*}}[%{{.*}}] bits 16 packed 8 : tensor<4x32xi32>, memref<?x16xi32>
  tile.store_digits %n, %h[%i] bits 16 packed 8 : tensor<4x32xi32>, memref<?x16xi32>
  // CHECK: %[[R:.*]] = tile.turn_integers %{{.*}} packed 4 bits 8 : tensor<2x32xi32> -> tensor<8x16xi32>
  %r = tile.turn_integers %w packed 4 bits 8 : tensor<2x32xi32> -> tensor<8x16xi32>
  // CHECK: tile.dot %{{.*}}, %[[R]], %{{.*}} {integers = 8 : i64} : tensor<4x8xi32>, tensor<8x16xi32> -> tensor<4x16xi32>
  %d = tile.dot %l, %r, %s {integers = 8 : i64} : tensor<4x8xi32>, tensor<8x16xi32> -> tensor<4x16xi32>
  // CHECK: tile.integer_dot %{{.*}}, %{{.*}}, %{{.*}} bits 8 : vector<16xi32>
  %e = tile.integer_dot %v, %v, %v bits 8 : vector<16xi32>
  return
}

// CHECK-LABEL: tile.func @changed(%arg0: index)
tile.func @changed(%i: index) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  // CHECK: tile.changed %arg0
  %c = tile.changed %i
  tile.return
}

// CHECK-LABEL: tile.func @producers({{.*}}) attributes {mapping = #tile.mapping<tensor>, producers = 128 : i64, vector = 2 : i64, workgroup = 256 : i64}
tile.func @producers(%x: memref<?x64xbf16>, %i: index)
    attributes {workgroup = 256 : i64, producers = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %ring = tile.shared : memref<1024x64xbf16, #tile.swizzled<panel_rows = 256>, #gpu.address_space<workgroup>>
  // CHECK: %[[B:.*]] = tile.shared : memref<4x2xi32, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<4x2xi32, #gpu.address_space<workgroup>>
  // CHECK: tile.mbarrier_init %[[B]] arrivals 4 : memref<4x2xi32, {{.*}}>
  tile.mbarrier_init %b arrivals 4 : memref<4x2xi32, #gpu.address_space<workgroup>>
  // CHECK: tile.registers 48
  tile.registers 48
  // CHECK: tile.registers 224 more
  tile.registers 224 more
  // CHECK: tile.mbarrier_wait %[[B]][%[[I:.*]]] parity %[[I]] : memref<4x2xi32, {{.*}}>
  tile.mbarrier_wait %b[%i] parity %i : memref<4x2xi32, #gpu.address_space<workgroup>>
  // CHECK: tile.copy %{{.*}} count 256 {of_subgroup}
  tile.copy %x[%i, %i] to %ring[%i] count 256 {of_subgroup} : memref<?x64xbf16> to memref<1024x64xbf16, #tile.swizzled<panel_rows = 256>, #gpu.address_space<workgroup>>
  // CHECK: tile.mbarrier_arrive %[[B]][%[[I]]] {copied} : memref<4x2xi32, {{.*}}>
  tile.mbarrier_arrive %b[%i] {copied} : memref<4x2xi32, #gpu.address_space<workgroup>>
  %yes = arith.constant true
  // CHECK: tile.mbarrier_arrive %[[B]][%[[I]]] if %{{.*}} : memref<4x2xi32, {{.*}}>
  tile.mbarrier_arrive %b[%i] if %yes : memref<4x2xi32, #gpu.address_space<workgroup>>
  tile.return
}
