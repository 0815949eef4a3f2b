// Columns are joined in memory. The kernel that pools them reads them there, and does not compute them on the way as it
// does with other elementwise ops.
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels))' | FileCheck %s

!rows = tensor<?x8xf32, #heddle.dims<"tokens">>
!both = tensor<?x16xf32, #heddle.dims<"tokens">>
!numbers = tensor<?xi32, #heddle.dims<"sequences">>
!texts = tensor<?x16xf32, #heddle.dims<"sequences">>

// CHECK-LABEL: func.func @pooled(
// CHECK: %[[BOTH:.*]] = heddle.kernel "join"(%arg0, %arg1 :
// CHECK: heddle.kernel "segment"(%[[BOTH]],
// CHECK-NOT: heddle.join
// CHECK: heddle.segment
func.func @pooled(%a: !rows, %b: !rows, %starts: !numbers, %lengths: !numbers) -> !texts {
  %both = heddle.join %a, %b : !rows, !rows -> !both
  %sums = heddle.segment sum %both segments(%starts, %lengths) {row_size = "length"} : !both, !numbers -> !texts
  return %sums : !texts
}

// CHECK-LABEL: func.func @doubled(
// CHECK: heddle.kernel "segment_addf"(%arg0,
func.func @doubled(%both: !both, %starts: !numbers, %lengths: !numbers) -> !texts {
  %twice = arith.addf %both, %both : !both
  %sums = heddle.segment sum %twice segments(%starts, %lengths) {row_size = "length"} : !both, !numbers -> !texts
  return %sums : !texts
}
