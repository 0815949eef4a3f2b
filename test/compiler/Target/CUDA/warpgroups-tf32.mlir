// A matmul in tf32 on Hopper: lanes round both operands on their way to shared memory, where warpgroups read them.
// RUN: heddle-compile %s -o %t.heddle --target=cuda:sm_90a --precision=tf32 --ptxas=none
// RUN: heddle-inspect %t.heddle --kernel=matmul_Tx1024 | FileCheck %s
// RUN: heddle-compile %s -o %t.80.heddle --target=cuda:sm_80 --precision=tf32 --ptxas=none
// RUN: heddle-inspect %t.80.heddle --kernel=matmul_Tx1024 | FileCheck %s --check-prefix=OLDER

// CHECK: .target sm_90a
// CHECK: .extern .shared .align 1024
// CHECK: .maxntid 256
// CHECK-NOT: cp.async
// CHECK: fence.proxy.async.shared::cta;
// CHECK: bar.sync 0;
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: cvt.rna.tf32.f32
// CHECK: st.shared.v4.b32
// CHECK: bar.warp.sync
// CHECK: ld.global
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: mma.sync

// OLDER: mma.sync
// OLDER-NOT: wgmma

heddle.size @n max 16384

func.func @forward(%x: tensor<?x1024xf32, #heddle.dims<"n">> {heddle.name = "x"}, %w: tensor<1024x1024xf32> {heddle.name = "w"})
    -> (tensor<?x1024xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %y = heddle.matmul %x, %w : tensor<?x1024xf32, #heddle.dims<"n">>, tensor<1024x1024xf32> -> tensor<?x1024xf32, #heddle.dims<"n">>
  return %y : tensor<?x1024xf32, #heddle.dims<"n">>
}
