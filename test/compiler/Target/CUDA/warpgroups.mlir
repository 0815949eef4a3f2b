// A large matmul on Hopper: producers copy ahead, and warpgroups read both operands from shared memory.
// RUN: heddle-compile %s -o %t.heddle --target=cuda:sm_90a --precision=bf16 --ptxas=none
// RUN: heddle-inspect %t.heddle --kernel=matmul_Tx1024 | FileCheck %s
// RUN: heddle-compile %s -o %t.80.heddle --target=cuda:sm_80 --precision=bf16 --ptxas=none
// RUN: heddle-inspect %t.80.heddle --kernel=matmul_Tx1024 | FileCheck %s --check-prefix=OLDER

// Operands begin at multiples of the swizzle's period.
// CHECK: .target sm_90a
// CHECK: .extern .shared .align 1024
// CHECK: .maxntid 384
// CHECK: .minnctapersm 1
// CHECK: mbarrier.init.shared::cta.b64
// CHECK: bar.sync 0;
// CHECK: setmaxnreg.dec.sync.aligned.u32 48;
// CHECK: cp.async.wait_group 0;
// CHECK: fence.proxy.async.shared::cta;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: cp.async.cg.shared.global
// CHECK: setmaxnreg.inc.sync.aligned.u32 224;
// CHECK-NOT: bar.sync
// CHECK: mbarrier.try_wait.parity.shared::cta.b64
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned;
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: st.global
// CHECK-NOT: mma.sync
// CHECK-NOT: bar.sync

// OLDER: mma.sync
// OLDER-NOT: wgmma

heddle.size @n max 16384

func.func @forward(%x: tensor<?x1024xf32, #heddle.dims<"n">> {heddle.name = "x"}, %w: tensor<1024x1024xf32> {heddle.name = "w"})
    -> (tensor<?x1024xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %y = heddle.matmul %x, %w : tensor<?x1024xf32, #heddle.dims<"n">>, tensor<1024x1024xf32> -> tensor<?x1024xf32, #heddle.dims<"n">>
  return %y : tensor<?x1024xf32, #heddle.dims<"n">>
}
