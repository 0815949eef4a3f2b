// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s

// One lane initialises the mbarriers, which are eight bytes apart. One lane of a subgroup arrives for all of its lanes.
// A producer's lanes first wait for their copies and make them visible to tensor cores. A wait that times out is
// repeated. A subgroup's copies are a loop.
// CHECK-LABEL: tile.func @producers
// CHECK: %[[LANE:.*]] = gpu.thread_id  x
// CHECK: %[[BARRIERS:.*]] = tile.shared
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK-COUNT-2: mbarrier.init.shared::cta.b64 [$0], 4;
// CHECK: }
// CHECK: nvvm.setmaxregister decrease 48
// CHECK: nvvm.setmaxregister increase 224
// CHECK: %[[OFFSET:.*]] = arith.muli %{{.*}}, %c8
// CHECK: %[[ADDRESS:.*]] = arith.index_castui %{{.*}} : index to i32
// CHECK: scf.while
// CHECK:   %[[DONE:.*]] = llvm.inline_asm has_side_effects "{{.*}}mbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2;{{.*}}" %[[ADDRESS]], %{{.*}}
// CHECK:   %[[AGAIN:.*]] = arith.cmpi eq, %[[DONE]], %c0_i32
// CHECK:   scf.condition(%[[AGAIN]])
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c32
// CHECK-COUNT-8: nvgpu.device_async_copy
// CHECK: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
// CHECK-NEXT: fence.proxy.async.shared::cta;
// CHECK: nvvm.bar.warp.sync
// CHECK: @arrives mbarrier.arrive.shared::cta.b64 _, [$0];
tile.func @producers(%x: memref<?x64xbf16>, %i: index, %parity: index)
    attributes {workgroup = 256 : i64, producers = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %ring = tile.shared : memref<1024x64xbf16, #tile.swizzled<panel_rows = 256>, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<2x2xi32, #gpu.address_space<workgroup>>
  tile.mbarrier_init %b arrivals 4 : memref<2x2xi32, #gpu.address_space<workgroup>>
  tile.registers 48
  tile.registers 224 more
  tile.mbarrier_wait %b[%i] parity %parity : memref<2x2xi32, #gpu.address_space<workgroup>>
  tile.copy %x[%i, %i] to %ring[%i] count 256 {of_subgroup} : memref<?x64xbf16> to memref<1024x64xbf16, #tile.swizzled<panel_rows = 256>, #gpu.address_space<workgroup>>
  tile.commit
  tile.mbarrier_arrive %b[%i] {copied} : memref<2x2xi32, #gpu.address_space<workgroup>>
  tile.return
}
