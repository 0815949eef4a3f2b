// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes,canonicalize,cse))' | FileCheck %s

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>

// A lane has the runs that begin at columns 4 * lane and 32 + 4 * lane of each row. Rows past the limit are read from
// the last row instead. One branch for each row keeps them from being written.
// CHECK-LABEL: tile.func @elementwise
tile.func @elementwise(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  // CHECK-DAG: %[[LANE:.*]] = gpu.thread_id x
  // CHECK-DAG: %[[ROW:.*]] = gpu.block_id y
  // CHECK: %[[COLUMN:.*]] = arith.muli %[[LANE]], %c4
  // CHECK: %[[LIMIT:.*]] = arith.addi %{{.*}}, %c-1
  // CHECK: %[[LAST:.*]] = arith.maxsi %[[LIMIT]], %c0
  // CHECK: %[[FIRST:.*]] = arith.minsi %[[ROW]], %[[LAST]]
  // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[ROW]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[COLUMN]], %c32
  // CHECK: %[[READ:.*]] = vector.load %{{.*}}[%[[FIRST]], %[[COLUMN]]]
  // CHECK: %[[X:.*]] = arith.select %[[INSIDE]], %[[READ]], %cst
  // CHECK: vector.load %{{.*}}[%[[FIRST]], %[[NEXT]]]
  // CHECK: %[[TANH:.*]] = math.tanh %[[X]] : vector<4xf32>
  // CHECK: scf.if %[[INSIDE]]
  // CHECK-NEXT: vector.store %[[TANH]], %{{.*}}[%[[ROW]], %[[COLUMN]]]
  // CHECK-NEXT: vector.store %{{.*}}, %{{.*}}[%[[ROW]], %[[NEXT]]]
  // CHECK-NOT: scf.if
  %c0 = arith.constant 0 : index
  %row = gpu.block_id y
  %x = tile.load %a[%row, %c0] rows(%n) : memref<?x64xf32> -> tensor<1x64xf32, #distributed>
  %y = math.tanh %x : tensor<1x64xf32, #distributed>
  tile.store %y, %b[%row, %c0] rows(%n) : tensor<1x64xf32, #distributed>, memref<?x64xf32>
  tile.return
}

// Neighbouring columns are in one register.
// CHECK-LABEL: tile.func @swap
// CHECK: %[[X:.*]] = vector.load
// CHECK-DAG: %[[A:.*]] = vector.extract %[[X]][0]
// CHECK-DAG: %[[B:.*]] = vector.extract %[[X]][1]
// CHECK-DAG: %[[C:.*]] = vector.extract %[[X]][2]
// CHECK-DAG: %[[D:.*]] = vector.extract %[[X]][3]
// CHECK: %[[Y:.*]] = vector.from_elements %[[B]], %[[A]], %[[D]], %[[C]] : vector<4xf32>
// CHECK: vector.store %[[Y]]
tile.func @swap(%a: memref<1x32xf32>, %b: memref<1x32xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<1x32xf32> -> tensor<1x32xf32, #distributed>
  %y = tile.swap %x : tensor<1x32xf32, #distributed>
  tile.store %y, %b[%c0, %c0] : tensor<1x32xf32, #distributed>, memref<1x32xf32>
  tile.return
}

// A loop carries registers. Each lane reads two of the left side's sixteen elements and gets the others by shuffles.
// CHECK-LABEL: tile.func @product
tile.func @product(%a: memref<16x64xf32>, %b: memref<64x32xf32>, %c: memref<16x32xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  // CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>
  // CHECK-COUNT-1: vector.load %{{.*}} : memref<16x64xf32>, vector<4xf32>
  // CHECK-COUNT-8: gpu.shuffle idx
  // CHECK: vector.load %{{.*}} : memref<16x64xf32>, vector<4xf32>
  // CHECK-COUNT-8: gpu.shuffle idx
  // CHECK-NOT: gpu.shuffle
  // CHECK-COUNT-4: vector.load %{{.*}} : memref<64x32xf32>, vector<4xf32>
  // CHECK-NOT: vector.load
  // CHECK: %[[A:.*]] = vector.extract %{{.*}}[0] : f32 from vector<4xf32>
  // CHECK-COUNT-64: math.fma {{.*}} : vector<4xf32>
  // CHECK-NOT: math.fma
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<16x32xf32, #distributed>
  %sum = scf.for %k = %c0 to %c64 step %c4 iter_args(%s = %zero) -> tensor<16x32xf32, #distributed> {
    %l = tile.load %a[%c0, %k] : memref<16x64xf32> -> tensor<16x4xf32, #whole>
    %r = tile.load %b[%k, %c0] : memref<64x32xf32> -> tensor<4x32xf32, #distributed>
    %d = tile.dot %l, %r, %s : tensor<16x4xf32, #whole>, tensor<4x32xf32, #distributed> -> tensor<16x32xf32, #distributed>
    scf.yield %d : tensor<16x32xf32, #distributed>
  }
  tile.store %sum, %c[%c0, %c0] : tensor<16x32xf32, #distributed>, memref<16x32xf32>
  tile.return
}

// If a lane has whole rows, a reduction along them needs no other lane.
// CHECK-LABEL: tile.func @ownRow
tile.func @ownRow(%a: memref<8x8xf32>, %b: memref<8x1xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  // CHECK-NOT: gpu.shuffle
  // CHECK: arith.maxnumf %{{.*}}, %{{.*}} fastmath<nnan> : vector<4xf32>
  // CHECK-COUNT-3: arith.maxnumf {{.*}} : f32
  // CHECK-NOT: scf.if
  // CHECK: memref.store
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<8x8xf32> -> tensor<8x8xf32, #rows>
  %max = tile.reduce max %x dim 1 : tensor<8x8xf32, #rows> -> tensor<8x1xf32, #rows>
  tile.store %max, %b[%c0, %c0] : tensor<8x1xf32, #rows>, memref<8x1xf32>
  tile.return
}

// Lanes that share a row exchange their parts over distances 1, 2 and 4. All get the result, and one writes it.
// CHECK-LABEL: tile.func @sharedRow
tile.func @sharedRow(%a: memref<1x32xf32>, %b: memref<1x1xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  // CHECK-COUNT-3: gpu.shuffle xor
  // CHECK-NOT: gpu.shuffle
  // CHECK: %[[OWNER:.*]] = arith.cmpi eq, %{{.*}}, %c0
  // CHECK: scf.if %[[OWNER]]
  // CHECK-NEXT: memref.store
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<1x32xf32> -> tensor<1x32xf32, #distributed>
  %sum = tile.reduce sum %x dim 1 : tensor<1x32xf32, #distributed> -> tensor<1x1xf32, #distributed>
  tile.store %sum, %b[%c0, %c0] : tensor<1x1xf32, #distributed>, memref<1x1xf32>
  tile.return
}

// The columns of a register are the four words of one counter, so ten rounds of two multiplications serve them all.
// CHECK-LABEL: tile.func @random
tile.func @random(%seed: memref<1x2xi32>, %b: memref<1x32xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  // CHECK-COUNT-20: arith.mului_extended
  // CHECK-NOT: arith.mului_extended
  // CHECK: vector.from_elements
  // CHECK: arith.sitofp %{{.*}} : vector<4xi32> to vector<4xf32>
  %c0 = arith.constant 0 : index
  %s = memref.load %seed[%c0, %c0] : memref<1x2xi32>
  %i = tile.index %c0 dim 0 : tensor<1x32xi32, #distributed>
  %j = tile.index %c0 dim 1 : tensor<1x32xi32, #distributed>
  %r = tile.random seed(%s, %s) step %s stream %s at(%i, %j) : tensor<1x32xi32, #distributed> -> tensor<1x32xf32, #distributed>
  tile.store %r, %b[%c0, %c0] : tensor<1x32xf32, #distributed>, memref<1x32xf32>
  tile.return
}

// A word has eight rows of a column. One load serves the eight rows of the tile: each number is shifted to the top of
// the word, and shifted down with its sign. Each scale serves 32 columns.
// CHECK-LABEL: tile.func @packed
// CHECK-SAME: %[[WORDS:.*]]: memref<8x32xi32>, %[[SCALES:.*]]: memref<64x1xf32>
// CHECK-DAG: %[[K:.*]] = gpu.block_id y
// CHECK: %[[ROW:.*]] = arith.muli %[[K]], %c8
// CHECK: %[[MEMORY_ROW:.*]] = arith.divui %[[ROW]], %c8
// CHECK: %[[WORD:.*]] = vector.load %[[WORDS]][%[[MEMORY_ROW]], %{{.*}}] : memref<8x32xi32>, vector<4xi32>
// CHECK-NEXT: %[[UP0:.*]] = arith.shli %[[WORD]], %[[C28:.*]] : vector<4xi32>
// CHECK-NEXT: arith.shrsi %[[UP0]], %[[C28]] : vector<4xi32>
// CHECK-COUNT-6: arith.shli %[[WORD]]
// CHECK: arith.shrsi %[[WORD]], %[[C28]]
// CHECK-NOT: vector.load %[[WORDS]]
// CHECK: %[[SCALE:.*]] = memref.load %[[SCALES]][%[[ROW]], %{{.*}}] : memref<64x1xf32>
// CHECK: vector.broadcast %[[SCALE]] : f32 to vector<4xf32>
tile.func @packed(%words: memref<8x32xi32>, %scales: memref<64x1xf32>, %out: memref<64x32xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %k = gpu.block_id y
  %row = arith.muli %k, %c8 : index
  %w = tile.load %words[%row, %c0] {packed = 4} : memref<8x32xi32> -> tensor<8x32xi32, #distributed>
  %s = tile.load %scales[%row, %c0] {any_padding, repeats = 32} : memref<64x1xf32> -> tensor<8x32xf32, #distributed>
  %f = arith.sitofp %w : tensor<8x32xi32, #distributed> to tensor<8x32xf32, #distributed>
  %x = arith.mulf %f, %s : tensor<8x32xf32, #distributed>
  tile.store %x, %out[%row, %c0] : tensor<8x32xf32, #distributed>, memref<64x32xf32>
  tile.return
}

// A word has eight rows and the tile four. They begin at the word's lowest bit or in its middle.
// CHECK-LABEL: tile.func @halves
// CHECK: %[[PLACE:.*]] = arith.remui %[[R:.*]], %c8
// CHECK: %[[BIT:.*]] = arith.muli %[[PLACE]], %c4
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[BIT]] : index to i32
// CHECK: %[[WORD:.*]] = vector.load
// CHECK: %[[WIDE:.*]] = vector.broadcast %[[FIRST]] : i32 to vector<4xi32>
// CHECK: arith.shrui %[[WORD]], %[[WIDE]]
// CHECK-NOT: vector.load
// CHECK: tile.return
tile.func @halves(%words: memref<8x32xi32>, %out: memref<64x32xi32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %k = gpu.block_id y
  %row = arith.muli %k, %c4 : index
  %w = tile.load %words[%row, %c0] {packed = 4} : memref<8x32xi32> -> tensor<4x32xi32, #distributed>
  tile.store %w, %out[%row, %c0] : tensor<4x32xi32, #distributed>, memref<64x32xi32>
  tile.return
}

// Each lane reads the table's elements that its numbers select.
// CHECK-LABEL: tile.func @lookup
// CHECK: %[[NUMBERS:.*]] = vector.load %arg0
// CHECK: %[[NUMBER:.*]] = vector.extract %[[NUMBERS]][0]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[NUMBER]] : i32 to index
// CHECK: memref.load %arg1[%c0, %[[INDEX]]] : memref<1x16xf32>
// CHECK-COUNT-3: memref.load %arg1
// CHECK: tile.return
tile.func @lookup(%numbers: memref<8x32xi32>, %table: memref<1x16xf32>, %out: memref<8x32xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %n = tile.load %numbers[%c0, %c0] : memref<8x32xi32> -> tensor<1x32xi32, #distributed>
  %x = tile.lookup %table[%n] : memref<1x16xf32>, tensor<1x32xi32, #distributed> -> tensor<1x32xf32, #distributed>
  tile.store %x, %out[%c0, %c0] : tensor<1x32xf32, #distributed>, memref<8x32xf32>
  tile.return
}

// Unsigned numbers are shifted down without a sign, and the bits above them are masked.
// CHECK-LABEL: tile.func @unsigned
// CHECK: %[[WORD:.*]] = vector.load
// CHECK-NEXT: arith.andi %[[WORD]], %[[MASK:.*]] : vector<4xi32>
// CHECK-NEXT: %[[DOWN:.*]] = arith.shrui %[[WORD]], %{{.*}} : vector<4xi32>
// CHECK-NEXT: arith.andi %[[DOWN]], %[[MASK]] : vector<4xi32>
// CHECK-COUNT-14: arith.shrui %[[WORD]], %{{.*}} : vector<4xi32>
// CHECK-NOT: arith.andi
// CHECK: tile.return
tile.func @unsigned(%words: memref<8x32xi32>, %out: memref<64x32xi32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %k = gpu.block_id y
  %row = arith.muli %k, %c16 : index
  %w = tile.load %words[%row, %c0] {packed = 2, is_unsigned} : memref<8x32xi32> -> tensor<16x32xi32, #distributed>
  tile.store %w, %out[%row, %c0] : tensor<16x32xi32, #distributed>, memref<64x32xi32>
  tile.return
}

// Rows before the first are read as the first.
// CHECK-LABEL: tile.func @clamped
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[ROW:.*]] = arith.maxsi %{{.*}}, %[[ZERO]]
// CHECK: vector.load %{{.*}}[%[[ROW]], %{{.*}}]
tile.func @clamped(%a: memref<?x32xf32>, %b: memref<?x32xf32>, %row: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %a[%row, %c0] {clamped} : memref<?x32xf32> -> tensor<1x32xf32, #distributed>
  tile.store %0, %b[%c0, %c0] : tensor<1x32xf32, #distributed>, memref<?x32xf32>
  tile.return
}

// A row of the matrix has three rows of the tile side by side.
// CHECK-LABEL: tile.func @members
// CHECK-SAME: index, %[[COLUMN:.*]]: index, %[[LIMIT:.*]]: index) attributes
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[APART:.*]] = arith.constant 16 : index
// CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %thread_id_x
// CHECK: %[[INSIDE:.*]] = arith.minsi %[[NUMBER]]
// CHECK: %[[ROW:.*]] = arith.divui %[[INSIDE]], %[[THREE]]
// CHECK: %[[MEMBER:.*]] = arith.remui %[[INSIDE]], %[[THREE]]
// CHECK: %[[FURTHER:.*]] = arith.muli %[[MEMBER]], %[[APART]]
// CHECK: %[[AT:.*]] = arith.addi %[[COLUMN]], %[[FURTHER]]
// CHECK: vector.load %{{.*}}[%[[ROW]], %[[AT]]]
// CHECK: arith.cmpi slt, %[[NUMBER]], %[[LIMIT]]
// CHECK: %[[TO:.*]] = arith.divui %[[NUMBER]], %[[THREE]]
// CHECK: vector.store %{{.*}}[%[[TO]], %{{.*}}]
tile.func @members(%a: memref<?x96xf32>, %y: memref<?x96xf32>, %row: index, %c: index, %n: index)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %0 = tile.load %a[%row, %c] rows(%n) {any_padding, members = 3, apart = 16} : memref<?x96xf32> -> tensor<8x4xf32, #rows>
  tile.store %0, %y[%row, %c] rows(%n) {members = 3, apart = 16} : tensor<8x4xf32, #rows>, memref<?x96xf32>
  tile.return
}

// A tile that is whole in each lane is read by each lane if lanes of several subgroups would have to exchange it.
// CHECK-LABEL: tile.func @several_subgroups
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-4: memref.load
// CHECK-NOT: gpu.shuffle
// CHECK: tile.return
tile.func @several_subgroups(%a: memref<4x1xf32>, %b: memref<4x64xf32>)
    attributes {workgroup = 128 : i64, subgroup = 8 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] : memref<4x1xf32> -> tensor<4x1xf32, #tile.simt<lanes = [1, 16], strides = [1, 8], vector = 1>>
  %y = tile.broadcast %x : tensor<4x1xf32, #tile.simt<lanes = [1, 16], strides = [1, 8], vector = 1>> -> tensor<4x64xf32, #tile.simt<lanes = [1, 16], strides = [1, 8], vector = 1>>
  tile.store %y, %b[%c0, %c0] : tensor<4x64xf32, #tile.simt<lanes = [1, 16], strides = [1, 8], vector = 1>>, memref<4x64xf32>
  tile.return
}
