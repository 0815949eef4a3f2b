// RUN: heddle-opt %s --heddle-lower-to-spirv --split-input-file --verify-diagnostics

// expected-error @+1 {{takes 'memref<?x?xf32>', but kernels address row-major matrices of known width}}
tile.func @width(%a: memref<?x?xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  tile.return
}

// -----

tile.func @powers(%a: memref<1x8xf32>, %b: memref<1x8xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x8xf32>
  %n = memref.load %b[%c0, %lane] : memref<1x8xi32>
  // expected-error @+1 {{kernels for Vulkan cannot compute 'math.fpowi' of 'f32'; write it with ops that they can, which compiler/Target/Vulkan/README.md lists}}
  %y = math.fpowi %x, %n : f32, i32
  memref.store %y, %a[%c0, %lane] : memref<1x8xf32>
  tile.return
}

// -----

tile.func @booleans(%a: memref<1x8xi32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.thread_id x
  %x = memref.load %a[%c0, %lane] : memref<1x8xi32>
  %bit = arith.cmpi ne, %x, %x : i32
  // expected-error @+1 {{kernels for Vulkan cannot compute 'arith.divui' of 'i1'; write it with ops that they can}}
  %other = arith.divui %bit, %bit : i1
  %y = arith.extui %other : i1 to i32
  memref.store %y, %a[%c0, %lane] : memref<1x8xi32>
  tile.return
}
