// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-sink-loads{operands=true}))' | FileCheck %s

// Operands of tensor cores are loaded at their use: ptxas moves loads up, as far as registers last, but not down. Other
// loads do not move.
// CHECK-LABEL: tile.func @operands
tile.func @operands(%a: memref<8x8xf32>, %b: memref<8x8xf32>)
    attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %x = tile.shared : memref<16x16xbf16, #gpu.address_space<workgroup>>
  // CHECK: %[[Y:.*]] = vector.load
  // CHECK-NEXT: %[[P:.*]] = nvgpu.ldmatrix {{.*}}numTiles = 4
  // CHECK-NEXT: %[[U:.*]] = vector.extract %[[P]][0]
  // CHECK-NEXT: arith.extf %[[U]]
  // CHECK-NEXT: nvgpu.ldmatrix {{.*}}numTiles = 2
  // CHECK-NEXT: vector.store
  %p = nvgpu.ldmatrix %x[%c0, %c0] {numTiles = 4 : i32, transpose = false} : memref<16x16xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
  %q = nvgpu.ldmatrix %x[%c0, %c8] {numTiles = 2 : i32, transpose = false} : memref<16x16xbf16, #gpu.address_space<workgroup>> -> vector<2x2xbf16>
  %r = vector.extract %q[1] : vector<2xbf16> from vector<2x2xbf16>
  %y = vector.load %b[%c0, %c0] : memref<8x8xf32>, vector<2xf32>
  %u = vector.extract %p[0] : vector<2xbf16> from vector<4x2xbf16>
  %v = arith.extf %u : vector<2xbf16> to vector<2xf32>
  vector.store %v, %a[%c0, %c0] : memref<8x8xf32>, vector<2xf32>
  %w = arith.extf %r : vector<2xbf16> to vector<2xf32>
  %s = arith.addf %w, %y : vector<2xf32>
  vector.store %s, %a[%c0, %c8] : memref<8x8xf32>, vector<2xf32>
  tile.return
}
