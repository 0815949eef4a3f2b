// The costs of kernels, as formulas of run-time sizes.
// RUN: heddle-opt %s --heddle-count-costs | FileCheck %s

// CHECK: heddle.size @t_at_most_4 max 4 of @t from 0
heddle.size @t max 100
heddle.size @u max 50
heddle.size @n max 10
heddle.size @"n*2" max 20 of @n times 2
heddle.size @longest max 20 longest "lengths"

// A matmul takes 2 t n k operations. Its bias and its activation take one operation for each element. Operands are read
// once.
// CHECK-LABEL: func.func @product
// CHECK: {heddle.cost = #heddle.cost<flops[<280["t"]>]model[<256["t"]>]bytes[<96["t"]>, <544>]>}
func.func @product(%x: tensor<?x16xf32, #heddle.dims<"t">>, %w: tensor<16x8xf32>, %b: tensor<8xf32>)
    -> tensor<?x8xf32, #heddle.dims<"t">> {
  %y = heddle.kernel "k"(%x, %w, %b : tensor<?x16xf32, #heddle.dims<"t">>, tensor<16x8xf32>, tensor<8xf32>)
      -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?x16xf32, #heddle.dims<"t">>, %1: tensor<16x8xf32>, %2: tensor<8xf32>):
    %3 = heddle.matmul %0, %1 : tensor<?x16xf32, #heddle.dims<"t">>, tensor<16x8xf32> -> tensor<?x8xf32, #heddle.dims<"t">>
    %4 = heddle.broadcast %2 : tensor<8xf32> to tensor<?x8xf32, #heddle.dims<"t">>
    %5 = arith.addf %3, %4 : tensor<?x8xf32, #heddle.dims<"t">>
    %6 = arith.mulf %5, %5 : tensor<?x8xf32, #heddle.dims<"t">>
    %7 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #heddle.dims<"t">>
    %8 = arith.maximumf %6, %7 : tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %8 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  return %y : tensor<?x8xf32, #heddle.dims<"t">>
}

// The K dimension of a transposed left side is its rows.
// CHECK-LABEL: func.func @weight_gradient
// CHECK: flops[<256["t"]>]model[<256["t"]>]bytes[<96["t"]>, <512>]
func.func @weight_gradient(%x: tensor<?x16xf32, #heddle.dims<"t">>, %g: tensor<?x8xf32, #heddle.dims<"t">>)
    -> tensor<16x8xf32> {
  %y = heddle.kernel "k"(%x, %g : tensor<?x16xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>) -> tensor<16x8xf32> {
  ^bb0(%0: tensor<?x16xf32, #heddle.dims<"t">>, %1: tensor<?x8xf32, #heddle.dims<"t">>):
    %2 = heddle.matmul %0, %1 {transpose_lhs} : tensor<?x16xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">> -> tensor<16x8xf32>
    heddle.yield %2 : tensor<16x8xf32>
  }
  return %y : tensor<16x8xf32>
}

// An operand that two ops use is read once. Comparisons, selections and integers are no floating-point operations.
// CHECK-LABEL: func.func @elementwise
// CHECK: {heddle.cost = #heddle.cost<flops[<8["t"]>]bytes[<64["t"]>]>}
func.func @elementwise(%x: tensor<?x8xf32, #heddle.dims<"t">>) -> tensor<?x8xf32, #heddle.dims<"t">> {
  %y = heddle.kernel "k"(%x : tensor<?x8xf32, #heddle.dims<"t">>) -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?x8xf32, #heddle.dims<"t">>):
    %1 = math.exp %0 : tensor<?x8xf32, #heddle.dims<"t">>
    %2 = arith.cmpf ogt, %0, %1 : tensor<?x8xf32, #heddle.dims<"t">>
    %3 = arith.select %2, %0, %1 : tensor<?x8xi1, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %3 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  return %y : tensor<?x8xf32, #heddle.dims<"t">>
}

// Only the rows that the indices name are read from an embedding's table.
// CHECK-LABEL: func.func @embedding
// CHECK: {heddle.cost = #heddle.cost<bytes[<68["t"]>]>}
func.func @embedding(%i: tensor<?xi32, #heddle.dims<"t">>, %table: tensor<1000x8xf32>) -> tensor<?x8xf32, #heddle.dims<"t">> {
  %y = heddle.kernel "k"(%i, %table : tensor<?xi32, #heddle.dims<"t">>, tensor<1000x8xf32>) -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?xi32, #heddle.dims<"t">>, %1: tensor<1000x8xf32>):
    %2 = heddle.embedding %0, %1 : tensor<?xi32, #heddle.dims<"t">>, tensor<1000x8xf32> -> tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %2 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  return %y : tensor<?x8xf32, #heddle.dims<"t">>
}

// A scatter reads only the rows of its destination that the indices name, and adds to them.
// CHECK-LABEL: func.func @scatter
// CHECK: {heddle.cost = #heddle.cost<bytes[<68["t"]>]>}
// CHECK: {heddle.cost = #heddle.cost<flops[<8["t"]>]bytes[<100["t"]>]>}
func.func @scatter(%i: tensor<?xi32, #heddle.dims<"t">>, %rows: tensor<?x8xf32, #heddle.dims<"t">>, %to: tensor<1000x8xf32>)
    -> tensor<1000x8xf32> {
  %y = heddle.kernel "k"(%i, %rows, %to : tensor<?xi32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>, tensor<1000x8xf32>) -> tensor<1000x8xf32> {
  ^bb0(%0: tensor<?xi32, #heddle.dims<"t">>, %1: tensor<?x8xf32, #heddle.dims<"t">>, %2: tensor<1000x8xf32>):
    %3 = heddle.scatter_rows %2, %0, %1 : tensor<1000x8xf32>, tensor<?xi32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %3 : tensor<1000x8xf32>
  }
  %z = heddle.kernel "k"(%i, %rows, %y : tensor<?xi32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>, tensor<1000x8xf32>) -> tensor<1000x8xf32> {
  ^bb0(%0: tensor<?xi32, #heddle.dims<"t">>, %1: tensor<?x8xf32, #heddle.dims<"t">>, %2: tensor<1000x8xf32>):
    %3 = heddle.scatter_add %2, %0, %1 : tensor<1000x8xf32>, tensor<?xi32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %3 : tensor<1000x8xf32>
  }
  return %z : tensor<1000x8xf32>
}

// Sums of rows first write zeros. Then each row is read and added to its sum.
// CHECK-LABEL: func.func @sum_equal
// CHECK: {heddle.cost = #heddle.cost<bytes[<4["t"]>, <4000>]>}
// CHECK: {heddle.cost = #heddle.cost<flops[<8["t"]>]bytes[<136["t"]>]>}
// CHECK: {heddle.cost = #heddle.cost<bytes[<36000>, <32["t"]>]>}
func.func @sum_equal(%i: tensor<?xi32, #heddle.dims<"t">>, %rows: tensor<?x8xf32, #heddle.dims<"t">>) -> tensor<1000x8xf32> {
  %first = heddle.kernel "k"(%i : tensor<?xi32, #heddle.dims<"t">>) -> tensor<1000x1xi32> {
  ^bb0(%0: tensor<?xi32, #heddle.dims<"t">>):
    %1 = heddle.find_first %0 : tensor<?xi32, #heddle.dims<"t">> -> tensor<1000x1xi32>
    heddle.yield %1 : tensor<1000x1xi32>
  }
  %sums = heddle.kernel "k"(%i, %first, %rows : tensor<?xi32, #heddle.dims<"t">>, tensor<1000x1xi32>, tensor<?x8xf32, #heddle.dims<"t">>) -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?xi32, #heddle.dims<"t">>, %1: tensor<1000x1xi32>, %2: tensor<?x8xf32, #heddle.dims<"t">>):
    %3 = heddle.sum_equal %0, %1, %2 : tensor<?xi32, #heddle.dims<"t">>, tensor<1000x1xi32>, tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %3 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  %dense = heddle.kernel "k"(%first, %sums : tensor<1000x1xi32>, tensor<?x8xf32, #heddle.dims<"t">>) -> tensor<1000x8xf32> {
  ^bb0(%0: tensor<1000x1xi32>, %1: tensor<?x8xf32, #heddle.dims<"t">>):
    %2 = heddle.densify %0, %1 : tensor<1000x1xi32>, tensor<?x8xf32, #heddle.dims<"t">> -> tensor<1000x8xf32>
    heddle.yield %2 : tensor<1000x8xf32>
  }
  return %dense : tensor<1000x8xf32>
}

// Attention takes 4 operations for each pair and column. The number of pairs follows from the lengths in the call. A
// causal mask excludes the keys after the query, and a window excludes distant keys before it.
// CHECK-LABEL: func.func @attention
// CHECK: flops[<32 pairs<"lengths", "lengths" max 2000>>]model[<32 pairs<"lengths", "lengths" max 2000>>]bytes[<144["t"]>, <8["n"]>]
// CHECK: flops[<32 pairs<"lengths", "lengths" above 0 max 2000>>]
// CHECK: flops[<32 pairs<"lengths", "lengths" below 3 above 0 max 400>>]
func.func @attention(%q: tensor<?x8xf32, #heddle.dims<"t">>, %k: tensor<?x8xf32, #heddle.dims<"t">>,
    %v: tensor<?x8xf32, #heddle.dims<"t">>, %s: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "starts"},
    %l: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "lengths"}) -> tensor<?x8xf32, #heddle.dims<"t">> {
  %full:2 = heddle.kernel "full"(%q, %k, %v, %s, %l : tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>,
      tensor<?x8xf32, #heddle.dims<"t">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>)
      -> tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x4xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?x8xf32, #heddle.dims<"t">>, %1: tensor<?x8xf32, #heddle.dims<"t">>, %2: tensor<?x8xf32, #heddle.dims<"t">>,
       %3: tensor<?xi32, #heddle.dims<"n">>, %4: tensor<?xi32, #heddle.dims<"n">>):
    %5, %6 = heddle.attention %0, %1, %2 queries(%3, %4) keys(%3, %4)
        {heads = 4 : i64, key_size = "longest", query_size = "longest", scale = 0.5 : f32}
        : (tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>,
           tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>,
           tensor<?xi32, #heddle.dims<"n">>) -> (tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x4xf32, #heddle.dims<"t">>)
    heddle.yield %5, %6 : tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x4xf32, #heddle.dims<"t">>
  }
  %causal = heddle.kernel "causal"(%full#0, %k, %v, %s, %l : tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>,
      tensor<?x8xf32, #heddle.dims<"t">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>)
      -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?x8xf32, #heddle.dims<"t">>, %1: tensor<?x8xf32, #heddle.dims<"t">>, %2: tensor<?x8xf32, #heddle.dims<"t">>,
       %3: tensor<?xi32, #heddle.dims<"n">>, %4: tensor<?xi32, #heddle.dims<"n">>):
    %5, %6 = heddle.attention %0, %1, %2 queries(%3, %4) keys(%3, %4) mask {
    ^bb0(%i: i32, %j: i32):
      %counts = arith.cmpi sle, %j, %i : i32
      heddle.yield %counts : i1
    } {heads = 4 : i64, key_size = "longest", query_size = "longest", scale = 0.5 : f32}
        : (tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>,
           tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>,
           tensor<?xi32, #heddle.dims<"n">>) -> (tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x4xf32, #heddle.dims<"t">>)
    heddle.yield %5 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  %windowed = heddle.kernel "windowed"(%causal, %k, %v, %s, %l : tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>,
      tensor<?x8xf32, #heddle.dims<"t">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>)
      -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?x8xf32, #heddle.dims<"t">>, %1: tensor<?x8xf32, #heddle.dims<"t">>, %2: tensor<?x8xf32, #heddle.dims<"t">>,
       %3: tensor<?xi32, #heddle.dims<"n">>, %4: tensor<?xi32, #heddle.dims<"n">>):
    %5, %6 = heddle.attention %0, %1, %2 queries(%3, %4) keys(%3, %4) mask {
    ^bb0(%i: i32, %j: i32):
      %window = arith.constant 4 : i32
      %distance = arith.subi %i, %j : i32
      %near = arith.cmpi slt, %distance, %window : i32
      %past = arith.cmpi sge, %i, %j : i32
      %counts = arith.andi %near, %past : i1
      heddle.yield %counts : i1
    } {heads = 4 : i64, key_size = "longest", query_size = "longest", scale = 0.5 : f32}
        : (tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x8xf32, #heddle.dims<"t">>,
           tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>,
           tensor<?xi32, #heddle.dims<"n">>) -> (tensor<?x8xf32, #heddle.dims<"t">>, tensor<?x4xf32, #heddle.dims<"t">>)
    heddle.yield %5 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  return %windowed : tensor<?x8xf32, #heddle.dims<"t">>
}

// Keys and values in a cache count up to the length of each sequence. If the lengths of queries are no input of the
// entry, they count as the maximum.
// CHECK-LABEL: func.func @cached
// CHECK: flops[<32["longest", "n"]>]
// CHECK-SAME: bytes[<76["n"]>, <64 pairs<"", "lengths" max 64>>]
func.func @cached(%q: tensor<?x8xf32, #heddle.dims<"n">>, %k: tensor<64x8xf32>, %v: tensor<64x8xf32>,
    %s: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "starts"},
    %l: tensor<?xi32, #heddle.dims<"n">> {heddle.name = "lengths"}) -> tensor<?x8xf32, #heddle.dims<"n">> {
  %i = heddle.kernel "iota"() -> tensor<?xi32, #heddle.dims<"n">> {
    %0 = heddle.iota : tensor<?xi32, #heddle.dims<"n">>
    heddle.yield %0 : tensor<?xi32, #heddle.dims<"n">>
  }
  %y = heddle.kernel "k"(%q, %k, %v, %i, %s, %l : tensor<?x8xf32, #heddle.dims<"n">>, tensor<64x8xf32>, tensor<64x8xf32>,
      tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>) -> tensor<?x8xf32, #heddle.dims<"n">> {
  ^bb0(%0: tensor<?x8xf32, #heddle.dims<"n">>, %1: tensor<64x8xf32>, %2: tensor<64x8xf32>,
       %6: tensor<?xi32, #heddle.dims<"n">>, %3: tensor<?xi32, #heddle.dims<"n">>, %4: tensor<?xi32, #heddle.dims<"n">>):
    %5, %7 = heddle.attention %0, %1, %2 queries(%6, %6) keys(%3, %4)
        {heads = 4 : i64, key_size = "longest", query_size = "", scale = 0.5 : f32}
        : (tensor<?x8xf32, #heddle.dims<"n">>, tensor<64x8xf32>, tensor<64x8xf32>,
           tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>,
           tensor<?xi32, #heddle.dims<"n">>) -> (tensor<?x8xf32, #heddle.dims<"n">>, tensor<?x4xf32, #heddle.dims<"n">>)
    heddle.yield %5 : tensor<?x8xf32, #heddle.dims<"n">>
  }
  return %y : tensor<?x8xf32, #heddle.dims<"n">>
}

// One operation for each element of the rows. The rows are read once.
// CHECK-LABEL: func.func @segment
// CHECK: flops[<8["t"]>]bytes[<32["t"]>, <72["n"]>]
func.func @segment(%x: tensor<?x8xf32, #heddle.dims<"t">>, %i: tensor<?xi32, #heddle.dims<"n">>,
                   %l: tensor<?xi32, #heddle.dims<"n">>) -> (tensor<?x8xf32, #heddle.dims<"n">>, tensor<?x8xi32, #heddle.dims<"n">>) {
  %y:2 = heddle.kernel "k"(%x, %i, %l : tensor<?x8xf32, #heddle.dims<"t">>, tensor<?xi32, #heddle.dims<"n">>,
      tensor<?xi32, #heddle.dims<"n">>) -> tensor<?x8xf32, #heddle.dims<"n">>, tensor<?x8xi32, #heddle.dims<"n">> {
  ^bb0(%0: tensor<?x8xf32, #heddle.dims<"t">>, %1: tensor<?xi32, #heddle.dims<"n">>, %2: tensor<?xi32, #heddle.dims<"n">>):
    %3, %4 = heddle.segment max %0 segments(%1, %2) {row_size = "longest"}
        : tensor<?x8xf32, #heddle.dims<"t">>, tensor<?xi32, #heddle.dims<"n">> -> tensor<?x8xf32, #heddle.dims<"n">>, tensor<?x8xi32, #heddle.dims<"n">>
    heddle.yield %3, %4 : tensor<?x8xf32, #heddle.dims<"n">>, tensor<?x8xi32, #heddle.dims<"n">>
  }
  return %y#0, %y#1 : tensor<?x8xf32, #heddle.dims<"n">>, tensor<?x8xi32, #heddle.dims<"n">>
}

// At most as many of four matrices are read as there are rows. They are of 16 bits.
// CHECK-LABEL: func.func @experts
// CHECK: flops[<512>, <256["t"]>]model[<256["t"]>]bytes[<96["t"]>, <256["t_at_most_4"]>, <20>]
func.func @experts(%x: tensor<?x16xf32, #heddle.dims<"t">>, %w: tensor<64x8xbf16>, %s: tensor<5xi32>)
    -> tensor<?x8xf32, #heddle.dims<"t">> {
  %y = heddle.kernel "k"(%x, %w, %s : tensor<?x16xf32, #heddle.dims<"t">>, tensor<64x8xbf16>, tensor<5xi32>)
      -> tensor<?x8xf32, #heddle.dims<"t">> {
  ^bb0(%0: tensor<?x16xf32, #heddle.dims<"t">>, %1: tensor<64x8xbf16>, %2: tensor<5xi32>):
    %3 = arith.extf %1 : tensor<64x8xbf16> to tensor<64x8xf32>
    %4 = heddle.grouped_matmul %0, %3 groups(%2) : tensor<?x16xf32, #heddle.dims<"t">>, tensor<64x8xf32>, tensor<5xi32> -> tensor<?x8xf32, #heddle.dims<"t">>
    heddle.yield %4 : tensor<?x8xf32, #heddle.dims<"t">>
  }
  return %y : tensor<?x8xf32, #heddle.dims<"t">>
}

// There are never as many rows as matrices.
// CHECK-LABEL: func.func @many_experts
// CHECK: bytes[<608["n*2"]>, <132>]
func.func @many_experts(%x: tensor<?x16xf32, #heddle.dims<"n*2">>, %w: tensor<512x8xf32>, %s: tensor<33xi32>)
    -> tensor<?x8xf32, #heddle.dims<"n*2">> {
  %y = heddle.kernel "k"(%x, %w, %s : tensor<?x16xf32, #heddle.dims<"n*2">>, tensor<512x8xf32>, tensor<33xi32>)
      -> tensor<?x8xf32, #heddle.dims<"n*2">> {
  ^bb0(%0: tensor<?x16xf32, #heddle.dims<"n*2">>, %1: tensor<512x8xf32>, %2: tensor<33xi32>):
    %3 = heddle.grouped_matmul %0, %1 groups(%2) : tensor<?x16xf32, #heddle.dims<"n*2">>, tensor<512x8xf32>, tensor<33xi32> -> tensor<?x8xf32, #heddle.dims<"n*2">>
    heddle.yield %3 : tensor<?x8xf32, #heddle.dims<"n*2">>
  }
  return %y : tensor<?x8xf32, #heddle.dims<"n*2">>
}
