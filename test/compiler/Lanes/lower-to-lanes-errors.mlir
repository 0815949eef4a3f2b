// RUN: heddle-opt %s --pass-pipeline='builtin.module(tile.func(heddle-lower-to-lanes))' --split-input-file --verify-diagnostics

tile.func @layout(%a: memref<?x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{has no layout for 'tensor<4x64xf32>'; run heddle-assign-layouts first}}
  %0 = tile.load %a[%c0, %c0] : memref<?x64xf32> -> tensor<4x64xf32>
  tile.return
}

// -----

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
tile.func @contracted() attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %l = arith.constant dense<1.0> : tensor<4x32xf32, #distributed>
  %r = arith.constant dense<1.0> : tensor<32x64xf32, #distributed>
  %a = arith.constant dense<0.0> : tensor<4x64xf32, #distributed>
  // expected-error @+1 {{needs all of the contracted dimension in each lane}}
  %0 = tile.dot %l, %r, %a : tensor<4x32xf32, #distributed>, tensor<32x64xf32, #distributed> -> tensor<4x64xf32, #distributed>
  tile.return
}

// -----

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @columns() attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %l = arith.constant dense<1.0> : tensor<4x8xf32, #whole>
  %r = arith.constant dense<1.0> : tensor<8x64xf32, #whole>
  %a = arith.constant dense<0.0> : tensor<4x64xf32, #distributed>
  // expected-error @+1 {{cannot distribute the columns of 'tensor<4x64xf32, #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>>'}}
  %0 = tile.dot %l, %r, %a : tensor<4x8xf32, #whole>, tensor<8x64xf32, #whole> -> tensor<4x64xf32, #distributed>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#columns = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
// Each lane has neighbouring columns of the left side, but rows of the result with a distance of eight.
tile.func @transposed() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %l = arith.constant dense<1.0> : tensor<4x64xf32, #columns>
  %r = arith.constant dense<1.0> : tensor<4x8xf32, #whole>
  %a = arith.constant dense<0.0> : tensor<64x8xf32, #rows>
  // expected-error @+1 {{cannot distribute the rows of 'tensor<64x8xf32, #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>>'}}
  %0 = tile.dot %l, %r, %a {transpose_lhs} : tensor<4x64xf32, #columns>, tensor<4x8xf32, #whole> -> tensor<64x8xf32, #rows>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @kept() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<8x64xf32, #rows>
  // expected-error @+1 {{keeps a dimension, which}}
  %0 = tile.reduce sum %t dim 1 : tensor<8x64xf32, #rows> -> tensor<8x1xf32, #whole>
  tile.return
}

// -----

#six = #tile.simt<lanes = [6, 1], strides = [1, 1], vector = 4>
tile.func @exchange() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<12x64xf32, #six>
  // expected-error @+1 {{combines across lanes, whose number and stride must be powers of two within the subgroup of 8}}
  %0 = tile.reduce sum %t dim 0 : tensor<12x64xf32, #six> -> tensor<1x64xf32, #six>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
tile.func @subgroups() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<64x64xf32, #rows>
  // expected-error @+1 {{leaves a row for each subgroup of 8 lanes, which have fragments, got}}
  %0 = tile.reduce sum %t dim 0 : tensor<64x64xf32, #rows> -> tensor<8x64xf32, #rows>
  tile.return
}

// -----

#sums = #tile.fragment<subgroups = 2, rows = 16>
#four = #tile.simt<lanes = [4, 4], strides = [16, 1], vector = 2>
tile.func @otherRows() attributes {workgroup = 64 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  %t = arith.constant dense<1.0> : tensor<32x16xf32, #sums>
  // expected-error @+1 {{leaves a row for each subgroup of 32 lanes, which have fragments, got}}
  %0 = tile.reduce sum %t dim 0 : tensor<32x16xf32, #sums> -> tensor<4x16xf32, #four>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @broadcast() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<8x1xf32, #whole>
  // expected-error @+1 {{keeps dimension 0, which}}
  %0 = tile.broadcast %t : tensor<8x1xf32, #whole> -> tensor<8x64xf32, #rows>
  tile.return
}

// -----

#eight = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
tile.func @columns() attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<1x64xf32, #eight>
  // expected-error @+1 {{takes whole registers of every lane, 32 columns each}}
  %0 = tile.columns %t from 16 : tensor<1x64xf32, #eight> -> tensor<1x32xf32, #eight>
  tile.return
}

// -----

#scalars = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 1>
tile.func @swap() attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} {
  %t = arith.constant dense<1.0> : tensor<1x64xf32, #scalars>
  // expected-error @+1 {{exchanges columns within a lane's registers, which hold no pairs in}}
  %0 = tile.swap %t : tensor<1x64xf32, #scalars>
  tile.return
}

// -----

#four = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
#one = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 1>
tile.func @registers() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<1x64xf32, #four>
  // expected-error @+1 {{cannot change the registers of}}
  %0 = tile.broadcast %t : tensor<1x64xf32, #four> -> tensor<8x64xf32, #one>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @gather(%m: memref<?x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %rows = arith.constant dense<1> : tensor<8x1xi32, #whole>
  // expected-error @+1 {{cannot distribute the rows of}}
  %0 = tile.gather %m[%rows, %c0] : memref<?x64xf32>, tensor<8x1xi32, #whole> -> tensor<8x64xf32, #rows>
  tile.return
}

// -----

#columns = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 1>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 1>
tile.func @gatherTransposed(%m: memref<?x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} {
  %c0 = arith.constant 0 : index
  %rows = arith.constant dense<1> : tensor<1x8xi32, #whole>
  // expected-error @+1 {{cannot distribute the columns of}}
  %0 = tile.gather %m[%rows, %c0] {transposed} : memref<?x64xf32>, tensor<1x8xi32, #whole> -> tensor<4x8xf32, #columns>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @storeTo(%m: memref<?x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %rows = arith.constant dense<1> : tensor<8x1xi32, #whole>
  %t = arith.constant dense<1.0> : tensor<8x64xf32, #rows>
  // expected-error @+1 {{cannot distribute the rows of}}
  tile.store %t, %m[%c0, %c0] to %rows : tensor<8x1xi32, #whole> : tensor<8x64xf32, #rows>, memref<?x64xf32>
  tile.return
}

// -----

#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
tile.func @random() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %s = arith.constant 1 : i32
  %t = arith.constant dense<1> : tensor<8x64xi32, #whole>
  // expected-error @+1 {{cannot distribute 'tensor<8x64xf32, #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>>' otherwise than its places}}
  %0 = tile.random seed(%s, %s) step %s stream %s at(%t, %t) : tensor<8x64xi32, #whole> -> tensor<8x64xf32, #rows>
  tile.return
}

// -----

#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @streams() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %s = arith.constant 1 : i32
  %t = arith.constant dense<1> : tensor<8x64xi32, #whole>
  %one = arith.constant dense<1> : tensor<1x64xi32, #whole>
  // expected-error @+1 {{has streams of type 'tensor<1x64xi32}}
  %0 = tile.random seed(%s, %s) step %s stream %s at(%t, %t) streams %one : tensor<1x64xi32, #whole> : tensor<8x64xi32, #whole> -> tensor<8x64xf32, #whole>
  tile.return
}

// -----

#columns = #tile.simt<lanes = [1, 2], strides = [1, 1], vector = 1>
tile.func @constant() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  // expected-error @+1 {{is a tile whose elements differ; a lane knows only constants that all lanes share}}
  %t = arith.constant dense<[[1, 2]]> : tensor<1x2xi32, #columns>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
#columns = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
tile.func @lookup(%numbers: memref<8x32xi32>, %table: memref<1x16xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %n = tile.load %numbers[%c0, %c0] : memref<8x32xi32> -> tensor<8x32xi32, #rows>
  // expected-error @+1 {{otherwise than its numbers}}
  %x = tile.lookup %table[%n] : memref<1x16xf32>, tensor<8x32xi32, #rows> -> tensor<8x32xf32, #columns>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
tile.func @place(%words: memref<8x32xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{keeps packed integers in their place only in workgroups of one lane}}
  %w = tile.load %words[%c0, %c0] {packed = 4, in_place} : memref<8x32xi32> -> tensor<8x32xi32, #rows>
  tile.return
}

// -----

#distributed = #tile.fragment<subgroups = 1, rows = 8>
tile.func @depth(%x: memref<64x64xbf16>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xbf16> -> tensor<16x8xbf16, #distributed>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32, #distributed>
  // expected-error @+1 {{takes 16 rows a subgroup and a depth of 16 at a time, which do not divide}}
  %p = tile.dot %a, %a, %zero {transpose_rhs} : tensor<16x8xbf16, #distributed>, tensor<16x8xbf16, #distributed> -> tensor<16x16xf32, #distributed>
  tile.return
}

// -----

#distributed = #tile.fragment<subgroups = 1, rows = 8>
#rows = #tile.simt<lanes = [32, 1], strides = [1, 1], vector = 2>
tile.func @layout_of_operands(%x: memref<64x64xbf16>) attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xbf16> -> tensor<32x16xbf16, #rows>
  %b = tile.load %x[%c0, %c0] : memref<64x64xbf16> -> tensor<16x16xbf16, #distributed>
  %zero = arith.constant dense<0.0> : tensor<32x16xf32, #distributed>
  // expected-error @+1 {{multiplies operands that are distributed as fragments}}
  %p = tile.dot %a, %b, %zero {transpose_rhs} : tensor<32x16xbf16, #rows>, tensor<16x16xbf16, #distributed> -> tensor<32x16xf32, #distributed>
  tile.return
}

// -----

#distributed = #tile.fragment<subgroups = 2, rows = 8>
tile.func @across_subgroups(%x: memref<64x64xf32>) attributes {workgroup = 64 : i64, subgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : memref<64x64xf32> -> tensor<16x8xf32, #distributed>
  // expected-error @+1 {{combines across lanes, whose number and stride must be powers of two within the subgroup of 32}}
  %p = tile.reduce sum %a dim 0 : tensor<16x8xf32, #distributed> -> tensor<1x8xf32, #distributed>
  tile.return
}

// -----

#sum = #tile.cooperative<sum, side = 16, subgroups = 4>
tile.func @elementwise(%c: memref<64x16xf32>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %x = arith.constant dense<1.0> : tensor<64x16xf32, #sum>
  // expected-error @+1 {{does not work on cooperative matrices}}
  %y = arith.addf %x, %x : tensor<64x16xf32, #sum>
  tile.return
}

// -----

#left = #tile.cooperative<left, side = 16, subgroups = 4>
tile.func @memory(%a: memref<64x16xf16>) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{moves cooperative matrices, which is possible from and to shared memory, without limits}}
  %x = tile.load %a[%c0, %c0] : memref<64x16xf16> -> tensor<64x16xf16, #left>
  tile.return
}

// -----

#left = #tile.cooperative<left, side = 16, subgroups = 4>
#sum = #tile.cooperative<sum, side = 16, subgroups = 4>
tile.func @uses() attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %x = arith.constant dense<1.0> : tensor<64x64xf16, #left>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #sum>
  // expected-error @+1 {{multiplies a left and a right tile of cooperative matrices to a sum}}
  %y = tile.dot %x, %x, %zero {transpose_rhs} : tensor<64x64xf16, #left>, tensor<64x64xf16, #left> -> tensor<64x64xf32, #sum>
  tile.return
}

// -----

#left = #tile.cooperative<left, side = 16, subgroups = 4>
tile.func @repeats_rows() attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 4 : i64} {
  %x = arith.constant dense<1.0> : tensor<64x16xf16, #left>
  // expected-error @+1 {{repeats columns of cooperative matrices}}
  %y = tile.broadcast %x : tensor<64x16xf16, #left> -> tensor<128x16xf16, #left>
  tile.return
}

// -----

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
#rows = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
tile.func @conversion() attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  %t = arith.constant dense<1.0> : tensor<8x32xf32, #distributed>
  // expected-error @+1 {{gives lanes other elements than they have; run heddle-lower-conversions first}}
  %0 = tile.convert_layout %t : tensor<8x32xf32, #distributed> -> tensor<8x32xf32, #rows>
  tile.return
}

// -----

#rows = #tile.simt<lanes = [32, 1], strides = [1, 1], vector = 2>
tile.func @swizzled() attributes {workgroup = 32 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %c0 = arith.constant 0 : index
  %x = tile.shared : memref<32x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // expected-error @+1 {{reads swizzled memory, as only fragments can, got 'tensor<32x16xbf16, #tile.simt}}
  %a = tile.load %x[%c0, %c0] : memref<32x16xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<32x16xbf16, #rows>
  tile.return
}

// -----

#distributed = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
tile.func @dot_of_integers() attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %l = arith.constant dense<1> : tensor<4x1xi32, #distributed>
  %r = arith.constant dense<1> : tensor<1x64xi32, #distributed>
  %a = arith.constant dense<0> : tensor<4x64xi32, #distributed>
  // expected-error @+1 {{multiplies integers only in vectors of a workgroup of one lane, the right operand not transposed}}
  %0 = tile.dot %l, %r, %a {integers = 8 : i64} : tensor<4x1xi32, #distributed>, tensor<1x64xi32, #distributed> -> tensor<4x64xi32, #distributed>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @digits(%m: memref<?x8xi32>) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %n = arith.constant dense<1> : tensor<1x32xi32, #vectors>
  // expected-error @+1 {{splits integers only in workgroups of one lane, a register to whole words}}
  tile.store_digits %n, %m[%c0] bits 8 packed 4 : tensor<1x32xi32, #vectors>, memref<?x8xi32>
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
tile.func @turn() attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %w = arith.constant dense<1> : tensor<4x32xi32, #vectors>
  // expected-error @+1 {{turns registers of 8 or 16 elements, only in workgroups of one lane}}
  %0 = tile.turn_integers %w packed 8 bits 8 : tensor<4x32xi32, #vectors> -> tensor<8x16xi32, #vectors>
  tile.return
}

// -----

tile.func @producers() attributes {workgroup = 256 : i64, producers = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64, subgroup = 32 : i64} {
  // expected-error @+1 {{waits for all lanes, in a kernel whose producers do not wait}}
  tile.wait 0
  tile.return
}

// -----

#vectors = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 1>
tile.func @pairs() attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 1 : i64} {
  %t = arith.constant dense<1.0> : tensor<2x16xbf16, #vectors>
  // expected-error @+1 {{puts pairs of registers into registers of as many words, only in workgroups of one lane}}
  %0 = tile.pairs %t dim 0 : tensor<2x16xbf16, #vectors> -> tensor<1x16xi32, #vectors>
  tile.return
}
