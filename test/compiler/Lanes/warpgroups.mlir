// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s

#sums = #tile.fragment<subgroups = 8, rows = 16>

// Two warpgroups of 64 rows. The left operand's rows have 128 bytes and follow each other. The right operand's rows are
// columns of the result, and their second 64 elements lie behind all of the first. Sums that begin with zeros are not
// read. A descriptor's lower word has an address in units of 16 bytes. Constants are added to it last, so that descriptors
// differ by one addition. The upper word names the swizzle.
// CHECK-LABEL: tile.func @product
tile.func @product(%c: memref<128x128xf32>, %row: index) attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #sums>
  // CHECK-DAG: %[[UPPER:.*]] = arith.constant 4611686293305294848 : i64
  // CHECK: %[[NUMBER:.*]] = arith.index_castui %{{.*}} : index to i32
  // CHECK: gpu.shuffle  idx %[[NUMBER]], %c0_i32, %c32_i32
  // CHECK: %[[A:.*]] = tile.shared {alignment = 1024 : i64} : memref<256x64xbf16, #gpu
  // CHECK: %[[B:.*]] = tile.shared {alignment = 1024 : i64} : memref<64x128xbf16, #gpu
  %a = tile.shared : memref<256x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>
  %d = tile.shared : memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // CHECK: %[[LEFT:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
  // CHECK: %[[NEAR:.*]] = arith.andi %[[LEFT]], %c262143
  // CHECK: %[[UNITS:.*]] = arith.divui %[[NEAR]], %c16
  // CHECK: %[[ROWS:.*]] = arith.muli %arg1, %c8
  // CHECK: %[[FIRST:.*]] = arith.addi %[[UNITS]], %[[ROWS]]
  // CHECK: %[[RIGHT:.*]] = memref.extract_aligned_pointer_as_index %[[B]]
  // CHECK: arith.andi %[[RIGHT]], %c262143
  // CHECK: %[[BLOCK:.*]] = arith.muli %{{.*}}, %c512
  // CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[BLOCK]]
  // CHECK: %[[LOW:.*]] = arith.addi %[[OWN]], %c65536
  // CHECK: %[[WIDE:.*]] = arith.index_castui %[[LOW]] : index to i64
  // CHECK: arith.ori %[[WIDE]], %[[UPPER]]
  // CHECK: arith.addi %[[OWN]], %c65538
  // CHECK: arith.addi %[[OWN]], %c65540
  // CHECK: arith.addi %[[OWN]], %c65542
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}wgmma.fence.sync.aligned;{{.*}}wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, $1, {{.*}}$63}, $64, $65, adds, 1, 1, 0, 1;{{.*}}$66, $67, adds
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  %p = tile.warpgroup_dot %zero, %a[%row], %d[%c0] depth 64
      : memref<256x64xbf16, #tile.swizzled<panel_rows = 128>, #gpu.address_space<workgroup>>, memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<128x128xf32, #sums>
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  tile.warpgroup_wait 1
  // The sums are operands and results of the instruction that waits for them.
  // CHECK: %[[DONE:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
  // CHECK: llvm.extractvalue %[[DONE]][0]
  %q = tile.warpgroup_wait 0, %p : tensor<128x128xf32, #sums> -> tensor<128x128xf32, #sums>
  // CHECK: vector.store
  tile.store %q, %c[%c0, %c0] : tensor<128x128xf32, #sums>, memref<128x128xf32>
  tile.return
}

// Copies put group g of row r at place g xor (r mod 8) of its 64 columns, where a group is eight columns. A lane makes
// its writes visible before tensor cores of other lanes may read them. The lane's later rows, 16 further each, have the
// first row's place plus a constant.
// CHECK-LABEL: tile.func @copy
tile.func @copy(%x: memref<64x128xbf16>, %c: memref<128x128xf32>) attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #sums>
  %a = tile.shared : memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // CHECK: %[[GROUP:.*]] = arith.remui %{{.*}}, %c16
  // CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c16
  // CHECK: %[[PANEL:.*]] = arith.divui %[[GROUP]], %c8
  // CHECK: %[[PLACE:.*]] = arith.remui %[[GROUP]], %c8
  // CHECK: %[[BEFORE:.*]] = arith.muli %[[PANEL]], %c64
  // CHECK: %[[LINE:.*]] = arith.addi %[[BEFORE]], %[[ROW]]
  // CHECK: %[[SWIZZLED:.*]] = arith.xori %[[PLACE]]
  // CHECK: %[[TO:.*]] = arith.addi %{{.*}}, %{{.*}}
  // CHECK-NEXT: nvgpu.device_async_copy %{{.*}}, %{{.*}}[%c0, %[[TO]]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[TO]], %c1024
  // CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}[%c0, %[[NEXT]]]
  tile.copy %x[%c0, %c0] to %a[%c0] count 64 : memref<64x128xbf16> to memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  tile.commit
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK-NEXT: llvm.inline_asm has_side_effects "fence.proxy.async.shared::cta;"
  // CHECK-NEXT: gpu.barrier
  tile.wait 0
  // CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;", "=f,{{.*}},0,1
  %sums = tile.load %c[%c0, %c0] : memref<128x128xf32> -> tensor<128x128xf32, #sums>
  %fenced = tile.warpgroup_fence %sums : tensor<128x128xf32, #sums>
  // CHECK: adds, 1, 1, 1, 1;
  %p = tile.warpgroup_dot %fenced, %a[%c0], %a[%c0] depth 64 {transpose_lhs}
      : memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>, memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<128x128xf32, #sums>
  %q = tile.warpgroup_wait 0, %p : tensor<128x128xf32, #sums> -> tensor<128x128xf32, #sums>
  tile.store %q, %c[%c0, %c0] : tensor<128x128xf32, #sums>, memref<128x128xf32>
  tile.return
}

// 256 lanes copy 32 rows of 64 elements at once. Missing rows are skipped.
// CHECK-LABEL: tile.func @few_rows
tile.func @few_rows(%x: memref<16x64xbf16>) attributes {workgroup = 256 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.shared : memref<16x64xbf16, #tile.swizzled<panel_rows = 16>, #gpu.address_space<workgroup>>
  // CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c8
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW]], %c16
  // CHECK: scf.if %[[INSIDE]]
  // CHECK: nvgpu.device_async_copy
  // CHECK-NOT: nvgpu.device_async_copy
  tile.copy %x[%c0, %c0] to %a[%c0] count 16 : memref<16x64xbf16> to memref<16x64xbf16, #tile.swizzled<panel_rows = 16>, #gpu.address_space<workgroup>>
  tile.return
}
