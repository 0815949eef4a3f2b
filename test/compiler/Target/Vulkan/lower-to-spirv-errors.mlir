// RUN: heddle-opt %s --heddle-lower-to-spirv --split-input-file --verify-diagnostics

// expected-error @+1 {{takes 'memref<?x?xf32>', but kernels address row-major matrices of known width}}
tile.func @width(%a: memref<?x?xf32>) attributes {workgroup = 8 : i64, mapping = #tile.mapping<columns>, vector = 4 : i64} {
  tile.return
}
