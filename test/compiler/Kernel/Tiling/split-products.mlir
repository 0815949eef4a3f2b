// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-split-kernels{target=cuda:sm_90a})' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-split-kernels{target=vulkan:software})' | FileCheck %s --check-prefix=SOFTWARE
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-fuse-kernels),heddle-split-kernels{target=cuda:sm_90a},heddle-tile{target=cuda:sm_90a})' | FileCheck %s --check-prefix=TILE

// Without tensor cores lanes multiply as otherwise.
// SOFTWARE-NOT: partial_products

!x = tensor<?x1024xbf16, #heddle.dims<"tokens">>
!few = tensor<?x1024xbf16, #heddle.dims<"few">>
!long = tensor<?x16384xbf16, #heddle.dims<"few">>
!wide = tensor<?x8192xbf16, #heddle.dims<"tokens">>
heddle.size @tokens max 16384
heddle.size @few max 64

// A gradient of weights has few tiles for 132 processors, so it is split. Its epilogue moves to the sum of the parts.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[P:.*]] = heddle.kernel "partial_matmul"(%arg0, %arg1 : {{.*}}) -> tensor<1024x4x1024xf32>
// CHECK: %[[PART:.*]] = heddle.partial_products %{{.*}}, %{{.*}} {transpose_lhs}
// CHECK: heddle.yield %[[PART]]
// CHECK: %[[Z:.*]] = heddle.kernel "sum_parts_addf"(%arg2, %[[P]] : tensor<1024x1024xf32>, tensor<1024x4x1024xf32>)
// CHECK: %[[SUM:.*]] = heddle.sum_parts %{{.*}} : tensor<1024x4x1024xf32> -> tensor<1024x1024xf32>
// CHECK: arith.addf %[[SUM]], %{{.*}}
// CHECK: return %[[Z]]

// The workgroups of a part visit only the part's range of the K dimension.
// TILE-LABEL: tile.func @partial_matmul
// TILE: %[[PART:.*]] = gpu.block_id z
// TILE: %[[LENGTH:.*]] = arith.muli %{{.*}}, %c64
// TILE: %[[BEGIN:.*]] = arith.muli %[[PART]], %[[LENGTH]]
// TILE: %[[NEXT:.*]] = arith.addi %[[BEGIN]], %[[LENGTH]]
// TILE: %[[END:.*]] = arith.minsi %{{.*}}, %[[NEXT]]
// TILE: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
func.func @gradient(%x: !x, %g: !x, %before: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %y = heddle.matmul %x, %g {transpose_lhs} : !x, !x -> tensor<1024x1024xf32>
  %z = arith.addf %y, %before : tensor<1024x1024xf32>
  return %z : tensor<1024x1024xf32>
}

// If the number of rows is known only at run time, each row has its parts.
// CHECK-LABEL: func.func @rows
// CHECK: heddle.partial_products {{.*}} -> tensor<?x8x1024xf32, #heddle.dims<"few">>
// CHECK: heddle.sum_parts {{.*}} -> tensor<?x1024xf32, #heddle.dims<"few">>
func.func @rows(%x: !long, %w: tensor<16384x1024xbf16>) -> tensor<?x1024xf32, #heddle.dims<"few">> {
  %y = heddle.matmul %x, %w : !long, tensor<16384x1024xbf16> -> tensor<?x1024xf32, #heddle.dims<"few">>
  return %y : tensor<?x1024xf32, #heddle.dims<"few">>
}

// If two matmuls are added, the deeper one is split. The other one moves to the kernel of the sum.
// CHECK-LABEL: func.func @adapted
// CHECK: heddle.kernel "partial_matmul"
// CHECK: heddle.kernel "sum_parts_matmul_addf"
// CHECK-DAG: %[[SUM:.*]] = heddle.sum_parts
// CHECK-DAG: %[[MORE:.*]] = heddle.matmul {{.*}} tensor<8x1024xbf16>
// CHECK: arith.addf %[[SUM]], %[[MORE]]
func.func @adapted(%x: !long, %w: tensor<16384x1024xbf16>, %low: tensor<?x8xbf16, #heddle.dims<"few">>, %b: tensor<8x1024xbf16>)
    -> tensor<?x1024xf32, #heddle.dims<"few">> {
  %base = heddle.matmul %x, %w : !long, tensor<16384x1024xbf16> -> tensor<?x1024xf32, #heddle.dims<"few">>
  %more = heddle.matmul %low, %b : tensor<?x8xbf16, #heddle.dims<"few">>, tensor<8x1024xbf16> -> tensor<?x1024xf32, #heddle.dims<"few">>
  %y = arith.addf %base, %more : tensor<?x1024xf32, #heddle.dims<"few">>
  return %y : tensor<?x1024xf32, #heddle.dims<"few">>
}

// Not split: as many tiles as processors, a short K dimension, and operands that lanes multiply.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: partial_products
func.func @left_alone(%x: !wide, %g: !wide, %a: !few, %b: !few, %c: tensor<?x512xf32, #heddle.dims<"tokens">>)
    -> (tensor<8192x8192xf32>, tensor<1024x1024xf32>, tensor<512x512xf32>) {
  %y = heddle.matmul %x, %g {transpose_lhs} : !wide, !wide -> tensor<8192x8192xf32>
  %z = heddle.matmul %a, %b {transpose_lhs} : !few, !few -> tensor<1024x1024xf32>
  %f = heddle.matmul %c, %c {transpose_lhs} : tensor<?x512xf32, #heddle.dims<"tokens">>, tensor<?x512xf32, #heddle.dims<"tokens">> -> tensor<512x512xf32>
  return %y, %z, %f : tensor<8192x8192xf32>, tensor<1024x1024xf32>, tensor<512x512xf32>
}
