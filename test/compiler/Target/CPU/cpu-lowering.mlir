// All passes of phase `lower`, from tiles with layouts to an LLVM function.
// RUN: heddle-opt %s --heddle-cpu-lowering | FileCheck %s

#thread = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 8>

// CHECK-LABEL: llvm.func @exponential(
// CHECK-SAME: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: !llvm.ptr)
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK-NOT: {{tile|gpu|scf|vector|arith|math|memref}}.
// CHECK-NOT: llvm.intr.exp
// CHECK: llvm.intr.roundeven
// CHECK-NOT: llvm.intr.exp
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
tile.func @exponential(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %n: index)
    attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 8 : i64} {
  %c0 = arith.constant 0 : index
  %row = gpu.block_id y
  %x = tile.load %a[%row, %c0] rows(%n) : memref<?x64xf32> -> tensor<1x64xf32, #thread>
  %y = math.exp %x : tensor<1x64xf32, #thread>
  tile.store %y, %b[%row, %c0] rows(%n) : tensor<1x64xf32, #thread>, memref<?x64xf32>
  tile.return
}
