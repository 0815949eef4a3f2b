// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects lanes and strides of at least 1}}
#l = #tile.simt<lanes = [0, 8], strides = [1, 1], vector = 4>

// -----

// expected-error @+1 {{expects a vector of 1, 2, 4, 8 or 16 elements, got 3}}
#l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 3>

// -----

#l = #tile.simt<lanes = [8, 1], strides = [1, 1], vector = 4>
// expected-error @+1 {{4 rows cannot be distributed over 8 lanes}}
func.func private @rows(tensor<4x64xf32, #l>)

// -----

#l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
// expected-error @+1 {{48 columns cannot be distributed over 8 lanes, 4 at a time}}
func.func private @columns(tensor<4x48xf32, #l>)

// -----

// expected-error @+2 {{expected ::mlir::tile::MatrixUse to be one of: left, right, sum}}
// expected-error @+1 {{failed to parse}}
#l = #tile.cooperative<middle, side = 16, subgroups = 4>

// -----

// expected-error @+1 {{expects a side and subgroups of at least 1}}
#l = #tile.cooperative<left, side = 0, subgroups = 4>

// -----

#l = #tile.cooperative<left, side = 16, subgroups = 4>
// expected-error @+1 {{32 x 16 elements cannot be cut into pieces of 16 x 16 for 4 subgroups}}
func.func private @pieces(tensor<32x16xf16, #l>)

// -----

#l = #tile.cooperative<right, side = 16, subgroups = 4>
// expected-error @+1 {{a tile has two static dimensions}}
func.func private @dynamic_pieces(tensor<?x16xf16, #l>)

// -----

#l = #tile.simt<lanes = [1, 8], strides = [1, 1], vector = 4>
// expected-error @+1 {{a tile has two static dimensions}}
func.func private @dynamic(tensor<?x64xf32, #l>)

// -----

// expected-error @+2 {{expected ::mlir::tile::LaneMapping to be one of: rows, columns, quads, blocks, tensor}}
// expected-error @+1 {{failed to parse}}
tile.func @mapping() attributes {workgroup = 8 : i64, mapping = #tile.mapping<diagonals>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects a workgroup of at least 1 lane}}
tile.func @workgroup() attributes {workgroup = 0 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'subgroup' to divide the workgroup of 128, got 48}}
tile.func @kernel() attributes {workgroup = 128 : i64, subgroup = 48 : i64, mapping = #tile.mapping<blocks>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'row_lanes' to divide the workgroup of 32, got 0}}
tile.func @kernel() attributes {workgroup = 32 : i64, row_lanes = 0 : i64, mapping = #tile.mapping<quads>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{has 'row_lanes' if its mapping is quads, and only then}}
tile.func @kernel() attributes {workgroup = 32 : i64, row_lanes = 4 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{has 'row_lanes' if its mapping is quads, and only then}}
tile.func @kernel() attributes {workgroup = 32 : i64, mapping = #tile.mapping<quads>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{returns nothing: a kernel writes its results to memory}}
tile.func @returns() -> index attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects matrices in memory and sizes as arguments, got 'f32'}}
tile.func @arguments(%x: f32) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}

// -----

func.func @nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{names no kernel: @kernel}}
  tile.launch @kernel(%x) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes [] reuse [] : (tensor<4xf32>) -> ()
  return
}

// -----

tile.func @kernel(%x: memref<1x4xf32>, %y: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @count(%x: tensor<4xf32>) {
  // expected-error @+1 {{passes 1 arguments, but the kernel takes 2}}
  tile.launch @kernel(%x) grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes [] reuse [] : (tensor<4xf32>) -> ()
  return
}

// -----

tile.func @kernel(%x: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @grid(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects a grid of three axes, got 1}}
  tile.launch @kernel(%x) grid [#tile.grid<"", 1, 1>] sizes [] reuse [] : (tensor<4xf32>) -> ()
  return
}

// -----

#g = #tile.grid<"", 1, 1>
tile.func @kernel(%x: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{names no kernel: @few}}
  tile.launch @kernel(%x) grid [#g, #g, #g] sizes [] reuse [] variants [#tile.variant<@few grid [#g, #g, #g] sizes []>] : (tensor<4xf32>) -> ()
  return
}

// -----

#g = #tile.grid<"", 1, 1>
tile.func @kernel(%x: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @sizes(%x: tensor<4xf32>) {
  // expected-error @+1 {{passes 2 arguments, but the kernel takes 1}}
  tile.launch @kernel(%x) grid [#g, #g, #g] sizes [] reuse [] variants [#tile.variant<@kernel grid [#g, #g, #g] sizes ["n"]>] : (tensor<4xf32>) -> ()
  return
}

// -----

#g = #tile.grid<"", 1, 1>
tile.func @kernel(%x: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @axes(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects a grid of three axes, got 1}}
  tile.launch @kernel(%x) grid [#g, #g, #g] sizes [] reuse [] variants [#tile.variant<@kernel grid [#g] sizes []>] : (tensor<4xf32>) -> ()
  return
}

// -----

tile.func @kernel(%x: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @reuse() {
  // expected-error @+1 {{expects a 'reuse' entry for each result}}
  %0 = tile.launch @kernel() grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes [] reuse [] : () -> tensor<4xf32>
  return
}

// -----

tile.func @kernel(%x: memref<1x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  tile.return
}
func.func @reused() {
  // expected-error @+1 {{'reuse' names no input: 0}}
  %0 = tile.launch @kernel() grid [#tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>, #tile.grid<"", 1, 1>] sizes [] reuse [0] : () -> tensor<4xf32>
  return
}

// -----

func.func @load(%m: memref<?x64xf32>, %i: index) {
  // expected-error @+1 {{moves 'f32' elements, but the tile is 'tensor<4x64xi32>'}}
  %0 = tile.load %m[%i, %i] : memref<?x64xf32> -> tensor<4x64xi32>
  return
}

// -----

func.func @store(%m: memref<?x64xf32>, %i: index, %t: tensor<4x64xi32>) {
  // expected-error @+1 {{moves 'f32' elements, but the tile is 'tensor<4x64xi32>'}}
  tile.store %t, %m[%i, %i] : tensor<4x64xi32>, memref<?x64xf32>
  return
}

// -----

func.func @gatherElements(%m: memref<?x64xf32>, %i: index, %rows: tensor<4x1xi32>) {
  // expected-error @+1 {{moves 'f32' elements, but the tile is 'tensor<4x64xi32>'}}
  %0 = tile.gather %m[%rows, %i] : memref<?x64xf32>, tensor<4x1xi32> -> tensor<4x64xi32>
  return
}

// -----

func.func @storeTo(%m: memref<?x64xf32>, %i: index, %t: tensor<4x64xf32>, %rows: tensor<3x1xi32>) {
  // expected-error @+1 {{expects a row index for each row, got 'tensor<3x1xi32>' for 'tensor<4x64xf32>'}}
  tile.store %t, %m[%i, %i] to %rows : tensor<3x1xi32> : tensor<4x64xf32>, memref<?x64xf32>
  return
}

// -----

func.func @gather(%m: memref<?x64xf32>, %i: index, %rows: tensor<1x4xi32>) {
  // expected-error @+1 {{expects a row index for each row, got 'tensor<1x4xi32>' for 'tensor<4x64xf32>'}}
  %0 = tile.gather %m[%rows, %i] : memref<?x64xf32>, tensor<1x4xi32> -> tensor<4x64xf32>
  return
}

// -----

func.func @lookupOddRow(%m: memref<1x12xf32>, %numbers: tensor<4x8xi32>) {
  // expected-error @+1 {{looks up numbers in a row of 2, 4, 8, ... elements, got 'tensor<4x8xi32>' and 'memref<1x12xf32>' for 'tensor<4x8xf32>'}}
  %0 = tile.lookup %m[%numbers] : memref<1x12xf32>, tensor<4x8xi32> -> tensor<4x8xf32>
  return
}

// -----

func.func @lookupElements(%m: memref<1x16xf32>, %numbers: tensor<4x8xi32>) {
  // expected-error @+1 {{moves 'f32' elements, but the tile is 'tensor<4x8xi32>'}}
  %0 = tile.lookup %m[%numbers] : memref<1x16xf32>, tensor<4x8xi32> -> tensor<4x8xi32>
  return
}

// -----

func.func @gatherTransposed(%m: memref<?x64xf32>, %i: index, %rows: tensor<4x1xi32>) {
  // expected-error @+1 {{expects a row index for each column, got 'tensor<4x1xi32>' for 'tensor<64x4xf32>'}}
  %0 = tile.gather %m[%rows, %i] {transposed} : memref<?x64xf32>, tensor<4x1xi32> -> tensor<64x4xf32>
  return
}

// -----

func.func @gatherTransposedWords(%m: memref<?x64xi32>, %i: index, %rows: tensor<1x4xi32>) {
  // expected-error @+1 {{transposes neither packed nor repeated elements}}
  %0 = tile.gather %m[%rows, %i] {packed = 4 : i64, transposed} : memref<?x64xi32>, tensor<1x4xi32> -> tensor<64x4xi32>
  return
}

// -----

func.func @dot(%l: tensor<4x8xf32>, %r: tensor<4x64xf32>, %a: tensor<4x64xf32>) {
  // expected-error @+1 {{cannot multiply 'tensor<4x8xf32>' and 'tensor<4x64xf32>' into 'tensor<4x64xf32>'}}
  %0 = tile.dot %l, %r, %a : tensor<4x8xf32>, tensor<4x64xf32> -> tensor<4x64xf32>
  return
}

// -----

func.func @reduceDimension(%t: tensor<4x64xf32>) {
  // expected-error @+1 {{expects dimension 0 or 1, got 2}}
  %0 = tile.reduce sum %t dim 2 : tensor<4x64xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @reduce(%t: tensor<4x64xf32>) {
  // expected-error @+1 {{cannot reduce 'tensor<4x64xf32>' along dimension 0 to 'tensor<4x1xf32>'}}
  %0 = tile.reduce sum %t dim 0 : tensor<4x64xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @reduceToRows(%t: tensor<4x64xf32>) {
  // expected-error @+1 {{cannot reduce 'tensor<4x64xf32>' along dimension 0 to 'tensor<3x64xf32>'}}
  %0 = tile.reduce sum %t dim 0 : tensor<4x64xf32> -> tensor<3x64xf32>
  return
}

// -----

func.func @swap(%t: tensor<4x63xf32>) {
  // expected-error @+1 {{expects pairs of columns, got 'tensor<4x63xf32>'}}
  %0 = tile.swap %t : tensor<4x63xf32>
  return
}

// -----

func.func @columns(%t: tensor<4x64xf32>) {
  // expected-error @+1 {{cannot take 'tensor<4x32xf32>' from column 48 of 'tensor<4x64xf32>'}}
  %0 = tile.columns %t from 48 : tensor<4x64xf32> -> tensor<4x32xf32>
  return
}

// -----

func.func @columns(%t: tensor<4x64xf32>) {
  // expected-error @+1 {{cannot take 'tensor<8x32xf32>' from column 0 of 'tensor<4x64xf32>'}}
  %0 = tile.columns %t from 0 : tensor<4x64xf32> -> tensor<8x32xf32>
  return
}

// -----

func.func @broadcast(%t: tensor<4x1xf32>) {
  // expected-error @+1 {{cannot repeat 'tensor<4x1xf32>' over 'tensor<6x64xf32>'}}
  %0 = tile.broadcast %t : tensor<4x1xf32> -> tensor<6x64xf32>
  return
}

// -----

func.func @element_types(%x: tensor<8x8xbf16>, %y: tensor<8x8xf32>) {
  // expected-error @+1 {{multiplies elements of a single type, got 'tensor<8x8xbf16>' and 'tensor<8x8xf32>'}}
  %0 = tile.dot %x, %y, %y : tensor<8x8xbf16>, tensor<8x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @device_memory() {
  // expected-error @+1 {{expects a matrix of known size in a workgroup's memory, got 'memref<8x8xbf16>'}}
  %0 = tile.shared : memref<8x8xbf16>
  return
}

// -----

func.func @copied_elements(%a: memref<8x8xf16>, %s: memref<8x8xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{copies 'f16' elements to}}
  tile.copy %a[%i, %i] to %s[%i] count 8 : memref<8x8xf16> to memref<8x8xbf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @copied_rows(%a: memref<64x8xbf16>, %s: memref<8x8xbf16, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{copies 16 rows to}}
  tile.copy %a[%i, %i] to %s[%i] count 16 : memref<64x8xbf16> to memref<8x8xbf16, #gpu.address_space<workgroup>>
  return
}

// -----

#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
func.func @converted_shape(%t: tensor<4x64xf32, #whole>) {
  // expected-error @+1 {{changes nothing but the layout, got 'tensor<4x64xf32, #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>>' and 'tensor<8x32xf32}}
  %0 = tile.convert_layout %t : tensor<4x64xf32, #whole> -> tensor<8x32xf32, #whole>
  return
}

// -----

#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
func.func @converted_elements(%t: tensor<4x64xf32, #whole>) {
  // expected-error @+1 {{changes nothing but the layout}}
  %0 = tile.convert_layout %t : tensor<4x64xf32, #whole> -> tensor<4x64xf16, #whole>
  return
}

// -----

#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
func.func @converted_from_nothing(%t: tensor<4x64xf32>) {
  // expected-error @+1 {{expects a layout on both sides, got 'tensor<4x64xf32>' and}}
  %0 = tile.convert_layout %t : tensor<4x64xf32> -> tensor<4x64xf32, #whole>
  return
}

// -----

#whole = #tile.simt<lanes = [1, 1], strides = [1, 1], vector = 4>
func.func @converted_to_nothing(%t: tensor<4x64xf32, #whole>) {
  // expected-error @+1 {{expects a layout on both sides, got}}
  %0 = tile.convert_layout %t : tensor<4x64xf32, #whole> -> tensor<4x64xf32>
  return
}

// -----

tile.func @packed(%a: memref<?x64xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{unpacks numbers of 1, 2, 4 or 8 bits, got 3}}
  %0 = tile.load %a[%c0, %c0] {packed = 3} : memref<?x64xi32> -> tensor<4x64xi32>
  tile.return
}

// -----

tile.func @packed(%a: memref<?x64xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{unpacks words to i32, but the tile is 'tensor<4x64xf32>'}}
  %0 = tile.load %a[%c0, %c0] {packed = 8} : memref<?x64xf32> -> tensor<4x64xf32>
  tile.return
}

// -----

tile.func @packed(%a: memref<?x64xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{transposes neither packed nor repeated elements}}
  %0 = tile.load %a[%c0, %c0] {packed = 8, transposed} : memref<?x64xi32> -> tensor<64x4xi32>
  tile.return
}

// -----

tile.func @place(%a: memref<?x64xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{with in_place needs a multiple of 8 rows of packed integers, got 'tensor<4x64xi32>'}}
  %0 = tile.load %a[%c0, %c0] {packed = 4, in_place} : memref<?x64xi32> -> tensor<4x64xi32>
  tile.return
}

// -----

tile.func @repeats(%a: memref<?x64xi32>, %ids: memref<?x1xi32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %rows = tile.load %ids[%c0, %c0] : memref<?x1xi32> -> tensor<4x1xi32>
  // expected-error @+1 {{repeats each element at least once, got 0}}
  %0 = tile.gather %a[%rows, %c0] {packed = 8, repeats = 0} : memref<?x64xi32>, tensor<4x1xi32> -> tensor<4x64xi32>
  tile.return
}

// -----

tile.func @not_packed(%a: memref<?x64xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{unpacks numbers of 1, 2, 4 or 8 bits, got 0}}
  %0 = tile.load %a[%c0, %c0] {is_unsigned} : memref<?x64xi32> -> tensor<4x64xi32>
  tile.return
}

// -----

tile.func @clamped(%a: memref<?x64xf32>)
    attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{begins before the first row neither transposed nor of packed elements}}
  %0 = tile.load %a[%c0, %c0] {clamped, transposed} : memref<?x64xf32> -> tensor<64x4xf32>
  tile.return
}

// -----

tile.func @kernel(%a: memref<?x64xf32>, %c: index) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  // expected-error @+1 {{expects members at least a column apart, got 3 that are 0 apart}}
  %0 = tile.load %a[%c, %c] {members = 3} : memref<?x64xf32> -> tensor<8x16xf32>
  tile.return
}

// -----

tile.func @kernel(%a: memref<?x64xf32>, %c: index) attributes {workgroup = 8 : i64, mapping = #tile.mapping<rows>, vector = 4 : i64} {
  // expected-error @+1 {{has members where rows are the matrix's rows in their order, none of them cut or repeated}}
  %0 = tile.load %a[%c, %c] {transposed, members = 3, apart = 16} : memref<?x64xf32> -> tensor<16x8xf32>
  tile.return
}

// -----

// expected-error @+1 {{expects at least 1 subgroup and 8 or 16 rows, got 0 and 8}}
#layout = #tile.fragment<subgroups = 0, rows = 8>

// -----

// expected-error @+1 {{expects at least 1 subgroup and 8 or 16 rows, got 4 and 12}}
#layout = #tile.fragment<subgroups = 4, rows = 12>

// -----

// expected-error @+1 {{16 rows cannot be distributed over 32 lanes, 1 at a time}}
func.func private @tile(tensor<16x8xf32, #tile.fragment<subgroups = 4, rows = 8>>)

// -----

// expected-error @+1 {{12 columns cannot be distributed over 4 lanes, 2 at a time}}
func.func private @tile(tensor<32x12xf32, #tile.fragment<subgroups = 4, rows = 8>>)

// -----

// expected-error @+1 {{a tile has two static dimensions}}
func.func private @tile(tensor<?x8xf32, #tile.fragment<subgroups = 4, rows = 8>>)

// -----

// expected-error @+1 {{32 rows cannot be distributed over 32 lanes, 2 at a time}}
func.func private @tile(tensor<32x8xf32, #tile.fragment<subgroups = 4, rows = 16>>)

// -----

// expected-error @+1 {{swizzles rows of 8, 16, 32, ... elements, got 24}}
func.func private @odd(memref<64x24xbf16, #tile.swizzled, #gpu.address_space<workgroup>>)

// -----

// expected-error @+1 {{swizzles rows of 8, 16, 32, ... elements, got 4}}
func.func private @narrow(memref<64x4xbf16, #tile.swizzled, #gpu.address_space<workgroup>>)

// -----

func.func @narrow_panel() {
  // expected-error @+1 {{has panels of 64 columns, got 'memref<64x32xbf16}}
  %a = tile.shared : memref<64x32xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @narrow_panel_of_f32() {
  // expected-error @+1 {{has panels of 32 columns, got 'memref<64x16xf32}}
  %a = tile.shared : memref<64x16xf32, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  return
}

// -----

// expected-error @+1 {{cuts 72 rows into panels of 36}}
func.func private @eights(memref<72x64xbf16, #tile.swizzled<panel_rows = 36>, #gpu.address_space<workgroup>>)

// -----

// expected-error @+1 {{cuts 96 rows into panels of 64}}
func.func private @cut(memref<96x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>)

// -----

func.func @elements() {
  // expected-error @+1 {{swizzles 16-bit elements, and f32 in panels, got 'memref<64x64xf32}}
  %a = tile.shared : memref<64x64xf32, #tile.swizzled, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @panel(%a: memref<64x64xbf16>, %s: memref<64x64xbf16, #tile.swizzled<panel_rows = 32>, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{copies 64 rows to panels of 32 rows}}
  tile.copy %a[%i, %i] to %s[%i] count 64 : memref<64x64xbf16> to memref<64x64xbf16, #tile.swizzled<panel_rows = 32>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @loaded_panel(%s: memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{reads panels, as only warpgroup_dot can}}
  %0 = tile.load %s[%i, %i] : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<64x64xbf16>
  return
}

// -----

func.func @stored(%t: tensor<64x64xbf16>, %s: memref<64x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>, %i: index) {
  // expected-error @+1 {{writes 16-bit elements to swizzled memory, as only copy can}}
  tile.store %t, %s[%i, %i] : tensor<64x64xbf16>, memref<64x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.shared : memref<96x64xbf16, #tile.swizzled<panel_rows = 96>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{expects left operands of 64x64, got}}
  %0 = tile.warpgroup_dot %zero, %a[%c], %a[%c] depth 64 {transpose_rhs} : memref<96x64xbf16, #tile.swizzled<panel_rows = 96>, #gpu.address_space<workgroup>>, memref<96x64xbf16, #tile.swizzled<panel_rows = 96>, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  tile.return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{expects right operands of 64x64, got}}
  %0 = tile.warpgroup_dot %zero, %a[%c], %b[%c] depth 64 : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>, memref<64x128xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  tile.return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<64x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>>
  // expected-error @+1 {{expects its right operand in panels of 64 rows, got}}
  %0 = tile.warpgroup_dot %zero, %a[%c], %b[%c] depth 64 : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>, memref<64x64xbf16, #tile.swizzled, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  tile.return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  %b = tile.shared : memref<64x64xf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{multiplies elements of a single type}}
  %0 = tile.warpgroup_dot %zero, %a[%c], %b[%c] depth 64 : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>, memref<64x64xf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  tile.return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @+1 {{has the sum that it is given as its result}}
  %0 = tile.warpgroup_wait 0, %zero : tensor<64x64xf32> -> tensor<64x32xf32>
  tile.return
}

// -----

// expected-error @+1 {{expects a vector of 1, 2, 4, 8 or 16 elements, got 7}}
tile.func @vector() attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 7 : i64} {
  tile.return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = arith.constant dense<0.0> : tensor<64x32xbf16>
  %b = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{expects a left operand of 64x64, got}}
  %0 = tile.warpgroup_dot %zero, %a, %b[%c] depth 64 : tensor<64x32xbf16>, memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  tile.return
}

// -----

tile.func @kernel(%c: index) attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = arith.constant dense<0.0> : tensor<64x64xbf16>
  %b = tile.shared : memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>>
  // expected-error @+1 {{expects a row of its left operand, and may transpose it, in shared memory alone}}
  %0 = tile.warpgroup_dot %zero, %a, %b[%c] depth 64 {transpose_lhs} : tensor<64x64xbf16>, memref<64x64xbf16, #tile.swizzled<panel_rows = 64>, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  tile.return
}

// -----

// expected-error @+1 {{expects a body: no kernel comes from elsewhere}}
tile.func private @kernel(memref<4x4xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64}

// -----

func.func @digits(%n: tensor<4x30xi32>, %m: memref<?x8xi32>, %i: index) {
  // expected-error @+1 {{writes whole words of 4 columns, 4 columns to an i32, got 'tensor<4x30xi32>' and 'memref<?x8xi32>'}}
  tile.store_digits %n, %m[%i] bits 8 packed 8 : tensor<4x30xi32>, memref<?x8xi32>
  return
}

// -----

func.func @digitsOfPacked(%n: tensor<4x32xi32>, %m: memref<?x8xi32>, %i: index) {
  // expected-error @+1 {{expects packed integers of 2, 4 or 8 bits, got 5}}
  tile.store_digits %n, %m[%i] bits 8 packed 5 : tensor<4x32xi32>, memref<?x8xi32>
  return
}

// -----

func.func @digitsOfBits(%n: tensor<4x32xi32>, %m: memref<?x8xi32>, %i: index) {
  // expected-error @+1 {{splits integers into digits of 8 or 16 bits, got 4}}
  tile.store_digits %n, %m[%i] bits 4 packed 4 : tensor<4x32xi32>, memref<?x8xi32>
  return
}

// -----

func.func @turn(%w: tensor<4x32xi32>) {
  // expected-error @+1 {{turns rows of 8 integers a word into columns of 4, got 'tensor<4x32xi32>' and 'tensor<8x16xi32>'}}
  %0 = tile.turn_integers %w packed 4 bits 8 : tensor<4x32xi32> -> tensor<8x16xi32>
  return
}

// -----

func.func @turnBits(%w: tensor<4x32xi32>) {
  // expected-error @+1 {{expects packed integers of 4 or 8 bits, got 2}}
  %0 = tile.turn_integers %w packed 2 bits 8 : tensor<4x32xi32> -> tensor<8x64xi32>
  return
}

// -----

func.func @turnToBits(%w: tensor<4x32xi32>) {
  // expected-error @+1 {{turns them into integers of 8 or 16 bits, got 4}}
  %0 = tile.turn_integers %w packed 4 bits 4 : tensor<4x32xi32> -> tensor<8x32xi32>
  return
}

// -----

func.func @dotOfBits(%l: tensor<4x8xi32>, %r: tensor<8x16xi32>, %s: tensor<4x16xi32>) {
  // expected-error @+1 {{multiplies integers of 8 or 16 bits in i32, got 0 bits in 'tensor<4x8xi32>'}}
  %0 = tile.dot %l, %r, %s : tensor<4x8xi32>, tensor<8x16xi32> -> tensor<4x16xi32>
  return
}

// -----

func.func @dotOfFloats(%l: tensor<4x8xf32>, %r: tensor<8x16xf32>, %s: tensor<4x16xf32>) {
  // expected-error @+1 {{multiplies integers of 8 or 16 bits in i32, got 8 bits in 'tensor<4x8xf32>'}}
  %0 = tile.dot %l, %r, %s {integers = 8 : i64} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @dotOfIntegers(%l: tensor<4x8xi32>, %r: tensor<8x16xi32>, %s: tensor<4x16xf32>) {
  // expected-error @+1 {{adds products of 'tensor<4x8xi32>' to i32, got 'tensor<4x16xf32>'}}
  %0 = tile.dot %l, %r, %s {integers = 8 : i64} : tensor<4x8xi32>, tensor<8x16xi32> -> tensor<4x16xf32>
  return
}

// -----

func.func @integerDot(%s: vector<16xi32>, %l: vector<8xi32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "tile.integer_dot"(%s, %l, %s) {bits = 8 : i64} : (vector<16xi32>, vector<8xi32>, vector<16xi32>) -> vector<16xi32>
  return
}

// -----

tile.func @kernel() attributes {workgroup = 128 : i64, mapping = #tile.mapping<tensor>, vector = 2 : i64} {
  %b = tile.shared : memref<4x4xi32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{expects mbarriers, two i32 each, got 'memref<4x4xi32, #gpu.address_space<workgroup>>'}}
  tile.mbarrier_init %b arrivals 4 : memref<4x4xi32, #gpu.address_space<workgroup>>
  tile.return
}

// -----

tile.func @changed(%n: index) attributes {workgroup = 1 : i64, mapping = #tile.mapping<columns>, vector = 16 : i64} {
  %b = arith.cmpi eq, %n, %n : index
  scf.if %b {
    // expected-error @+1 {{'tile.changed' op expects parent op 'tile.func'}}
    %c = tile.changed %n
  }
  tile.return
}

// -----

func.func @pairsOfDim(%t: tensor<32x16xbf16>) {
  // expected-error @+1 {{expects dim 0 or 1, got 2}}
  %0 = tile.pairs %t dim 2 : tensor<32x16xbf16> -> tensor<16x16xi32>
  return
}

// -----

func.func @pairsOfOddRows(%t: tensor<33x16xbf16>) {
  // expected-error @+1 {{puts two elements of dim 0 into a word, got 'tensor<33x16xbf16>' and 'tensor<16x16xi32>'}}
  %0 = tile.pairs %t dim 0 : tensor<33x16xbf16> -> tensor<16x16xi32>
  return
}

// -----

func.func @pairsOfColumns(%t: tensor<32x16xbf16>) {
  // expected-error @+1 {{puts two elements of dim 1 into a word, got 'tensor<32x16xbf16>' and 'tensor<16x16xi32>'}}
  %0 = tile.pairs %t dim 1 : tensor<32x16xbf16> -> tensor<16x16xi32>
  return
}

// -----

func.func @ninthMatrix(%m: memref<32x16xi32>, %i: index) {
  // expected-error @+1 {{names matrix register 8 of 8}}
  tile.matrix_load 8, %m[%i, %i] : memref<32x16xi32>
  return
}

// -----

func.func @storesNinthMatrix(%m: memref<32x16xf32>, %i: index) {
  // expected-error @+1 {{names matrix register 8 of 8}}
  tile.matrix_store 8, %m[%i, %i] : memref<32x16xf32>
  return
}

// -----

func.func @multipliesNinthMatrix() {
  // expected-error @+1 {{names matrix register 9 of 8}}
  tile.matrix_dot 0, 4, 9
  return
}

// -----

func.func @narrowMatrix(%m: memref<32x8xi32>, %i: index) {
  // expected-error @+1 {{moves 16 x 16 elements of f32 or i32, got 'memref<32x8xi32>'}}
  tile.matrix_load 4, %m[%i, %i] : memref<32x8xi32>
  return
}

// -----

func.func @matrixOfHalves(%m: memref<32x32xbf16>, %i: index) {
  // expected-error @+1 {{moves 16 x 16 elements of f32 or i32, got 'memref<32x32xbf16>'}}
  tile.matrix_store 0, %m[%i, %i] : memref<32x32xbf16>
  return
}

// -----

func.func @lowMatrix(%m: memref<8x16xi32>, %i: index) {
  // expected-error @+1 {{moves 16 x 16 elements of f32 or i32, got 'memref<8x16xi32>'}}
  tile.matrix_load 4, %m[%i, %i] : memref<8x16xi32>
  return
}
