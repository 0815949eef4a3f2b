// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-conversions))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-conversions,heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s --check-prefix=LANES

#columns = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#apart = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 1>
#sum = #tile.cooperative<sum, side = 8, subgroups = 1>
#left = #tile.cooperative<left, side = 8, subgroups = 1>

// No one used the memory before, so lanes do not wait before they write. Lane l writes its part of each row and reads
// row l.
// CHECK-LABEL: tile.func @through_memory
// CHECK: %[[SHARED:.*]] = tile.shared : memref<8x32xf32, strided<[36, 1]>, #gpu.address_space<workgroup>>
// CHECK: %[[TILE:.*]] = tile.load %arg0
// CHECK-NOT: tile.wait
// CHECK: tile.store %[[TILE]], %[[SHARED]][%[[ZERO:.*]], %[[ZERO]]] : tensor<8x32xf32, #tile.simt<lanes = [1, 8]
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: %[[TURNED:.*]] = tile.load %[[SHARED]][%[[ZERO]], %[[ZERO]]] {any_padding} {{.*}} -> tensor<8x32xf32, #tile.simt<lanes = [8, 1]
// CHECK-NEXT: tile.store %[[TURNED]], %arg0
// LANES-LABEL: tile.func @through_memory
// LANES: %[[LANE:.*]] = gpu.thread_id x
// LANES: %[[COLUMN:.*]] = arith.muli %[[LANE]], %c4
// LANES-COUNT-8: vector.store %{{.*}}, %{{.*}}[%c{{[0-7]}}, %[[COLUMN]]]
// LANES: gpu.barrier
// LANES-COUNT-8: vector.load %{{.*}}[%[[LANE]], %c{{[0-9]+}}] : memref<8x32xf32, strided<[36, 1]>
// LANES-NOT: gpu.barrier
tile.func @through_memory(%a: memref<8x32xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %a[%c0, %c0] : memref<8x32xf32> -> tensor<8x32xf32, #columns>
  %r = tile.convert_layout %t : tensor<8x32xf32, #columns> -> tensor<8x32xf32, #rows>
  tile.store %r, %a[%c0, %c0] : tensor<8x32xf32, #rows>, memref<8x32xf32>
  tile.return
}

// Each lane keeps its row, in narrower registers, so there are no memory and no wait.
// CHECK-LABEL: tile.func @in_place
// CHECK-NOT: tile.shared
// CHECK: tile.convert_layout
// LANES-LABEL: tile.func @in_place
// LANES-COUNT-2: vector.load
// LANES-NOT: gpu.barrier
// LANES: %[[FIRST:.*]] = vector.extract %{{.*}}[0] : f32 from vector<4xf32>
// LANES: memref.store %[[FIRST]]
// LANES-COUNT-7: memref.store
tile.func @in_place(%a: memref<8x8xf32>, %b: memref<8x9xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %a[%c0, %c0] : memref<8x8xf32> -> tensor<8x8xf32, #rows>
  %r = tile.convert_layout %t : tensor<8x8xf32, #rows> -> tensor<8x8xf32, #apart>
  tile.store %r, %b[%c0, %c0] : tensor<8x8xf32, #apart>, memref<8x9xf32>
  tile.return
}

// Single bits cannot be stored in shared memory.
// CHECK-LABEL: tile.func @bits
// CHECK: tile.shared : memref<8x32xi32, strided<[36, 1]>
// CHECK: %[[WIDE:.*]] = arith.extui %{{.*}} : tensor<8x32xi1, #tile.simt<lanes = [1, 8]{{.*}} to tensor<8x32xi32
// CHECK: tile.store %[[WIDE]]
// CHECK: %[[LOADED:.*]] = tile.load {{.*}} -> tensor<8x32xi32, #tile.simt<lanes = [8, 1]
// CHECK: arith.trunci %[[LOADED]] : tensor<8x32xi32, #tile.simt<lanes = [8, 1]{{.*}} to tensor<8x32xi1
tile.func @bits(%a: memref<8x32xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<8x32xf32, #columns>
  %t = tile.load %a[%c0, %c0] : memref<8x32xf32> -> tensor<8x32xf32, #columns>
  %positive = arith.cmpf ogt, %t, %zero : tensor<8x32xf32, #columns>
  %turned = tile.convert_layout %positive : tensor<8x32xi1, #columns> -> tensor<8x32xi1, #rows>
  %number = arith.uitofp %turned : tensor<8x32xi1, #rows> to tensor<8x32xf32, #rows>
  tile.store %number, %a[%c0, %c0] : tensor<8x32xf32, #rows>, memref<8x32xf32>
  tile.return
}

// The second conversion uses the memory of the first, after all lanes have read it.
// CHECK-LABEL: tile.func @one_after_the_other
// CHECK: %[[SHARED:.*]] = tile.shared
// CHECK-NOT: tile.shared
// CHECK: tile.store %{{.*}}, %[[SHARED]]
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: tile.load %[[SHARED]]
// CHECK: tile.wait 0
// CHECK-NEXT: tile.store %{{.*}}, %[[SHARED]]
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: tile.load %[[SHARED]]
tile.func @one_after_the_other(%a: memref<8x32xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %a[%c0, %c0] : memref<8x32xf32> -> tensor<8x32xf32, #columns>
  %r = tile.convert_layout %t : tensor<8x32xf32, #columns> -> tensor<8x32xf32, #rows>
  %e = math.exp %r : tensor<8x32xf32, #rows>
  %s = tile.convert_layout %e : tensor<8x32xf32, #rows> -> tensor<8x32xf32, #columns>
  tile.store %s, %a[%c0, %c0] : tensor<8x32xf32, #columns>, memref<8x32xf32>
  tile.return
}

// In a loop two conversions have memory of their own. Each is safe from readers of the previous iteration by the other
// one's wait. After the loop the first memory is free.
// CHECK-LABEL: tile.func @in_a_loop
// CHECK-DAG: %[[SECOND:.*]] = tile.shared : memref<8x32xf32, strided<[36, 1]>
// CHECK-DAG: %[[FIRST:.*]] = tile.shared : memref<8x32xf32, strided<[36, 1]>
// CHECK-NOT: tile.shared
// CHECK: scf.for
// CHECK-NOT: tile.wait
// CHECK: tile.store %{{.*}}, %[[ONE:[0-9]+]][
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: tile.load %[[ONE]][
// CHECK-NOT: tile.wait
// CHECK: tile.store %{{.*}}, %[[OTHER:[0-9]+]][
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: tile.load %[[OTHER]][
// CHECK: scf.yield
// CHECK: tile.wait 0
// CHECK-NEXT: tile.store %{{.*}}, %{{.*}}[{{.*}}memref<8x32xf32, strided<[36, 1]>
tile.func @in_a_loop(%a: memref<8x32xf32>, %n: index) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.load %a[%c0, %c0] : memref<8x32xf32> -> tensor<8x32xf32, #columns>
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> tensor<8x32xf32, #columns> {
    %r = tile.convert_layout %s : tensor<8x32xf32, #columns> -> tensor<8x32xf32, #rows>
    %e = math.exp %r : tensor<8x32xf32, #rows>
    %back = tile.convert_layout %e : tensor<8x32xf32, #rows> -> tensor<8x32xf32, #columns>
    scf.yield %back : tensor<8x32xf32, #columns>
  }
  %y = tile.convert_layout %x : tensor<8x32xf32, #columns> -> tensor<8x32xf32, #rows>
  tile.store %y, %a[%c0, %c0] : tensor<8x32xf32, #rows>, memref<8x32xf32>
  tile.return
}

// A single conversion in a loop follows itself, so lanes wait until all have read the last iteration's tile.
// CHECK-LABEL: tile.func @alone_in_a_loop
// CHECK: scf.for
// CHECK: tile.wait 0
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: tile.load
tile.func @alone_in_a_loop(%a: memref<8x32xf32>, %n: index) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tile.load %a[%c0, %c0] : memref<8x32xf32> -> tensor<8x32xf32, #columns>
  %zero = arith.constant dense<0.0> : tensor<8x32xf32, #rows>
  %x = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<8x32xf32, #rows> {
    %r = tile.convert_layout %t : tensor<8x32xf32, #columns> -> tensor<8x32xf32, #rows>
    %sum = arith.addf %s, %r : tensor<8x32xf32, #rows>
    scf.yield %sum : tensor<8x32xf32, #rows>
  }
  tile.store %x, %a[%c0, %c0] : tensor<8x32xf32, #rows>, memref<8x32xf32>
  tile.return
}

// Sums leave cooperative matrices through shared memory, and become operands in the same way.
// CHECK-LABEL: tile.func @matrices
// CHECK: tile.store %{{.*}}, %[[SUMS:.*]][{{.*}} : tensor<8x32xf32, #tile.cooperative<sum, side = 8, subgroups = 1>>
// CHECK: tile.load %[[SUMS]][{{.*}} -> tensor<8x32xf32, #tile.simt<lanes = [1, 8]
// CHECK: tile.store %{{.*}}, %[[FACTORS:.*]][{{.*}} : tensor<8x32xf16, #tile.simt<lanes = [1, 8]
// CHECK: tile.load %[[FACTORS]][{{.*}} -> tensor<8x32xf16, #tile.cooperative<left, side = 8, subgroups = 1>>
// LANES-LABEL: tile.func @matrices
// LANES-COUNT-4: gpu.subgroup_mma_store_matrix
// LANES: gpu.barrier
// LANES: vector.load
// LANES: vector.store
// LANES: gpu.barrier
// LANES-COUNT-4: gpu.subgroup_mma_load_matrix {{.*}} "AOp"
tile.func @matrices() attributes {workgroup = 8 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %right = tile.shared : memref<8x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>>
  %out = tile.shared : memref<8x8xf32, strided<[12, 1]>, #gpu.address_space<workgroup>>
  %t = arith.constant dense<0.0> : tensor<8x32xf32, #sum>
  %distributed = tile.convert_layout %t : tensor<8x32xf32, #sum> -> tensor<8x32xf32, #columns>
  %half = arith.truncf %distributed : tensor<8x32xf32, #columns> to tensor<8x32xf16, #columns>
  %l = tile.convert_layout %half : tensor<8x32xf16, #columns> -> tensor<8x32xf16, #left>
  %r = tile.load %right[%c0, %c0] : memref<8x32xf16, strided<[40, 1]>, #gpu.address_space<workgroup>> -> tensor<8x32xf16, #tile.cooperative<right, side = 8, subgroups = 1>>
  %zero = arith.constant dense<0.0> : tensor<8x8xf32, #sum>
  %d = tile.dot %l, %r, %zero {transpose_rhs} : tensor<8x32xf16, #left>, tensor<8x32xf16, #tile.cooperative<right, side = 8, subgroups = 1>> -> tensor<8x8xf32, #sum>
  tile.store %d, %out[%c0, %c0] : tensor<8x8xf32, #sum>, memref<8x8xf32, strided<[12, 1]>, #gpu.address_space<workgroup>>
  tile.return
}
