// RUN: heddle-opt %s --heddle-derive-contract --split-input-file | FileCheck %s

// Indices into one tensor get a limit from the op, whatever the input is called. The tighter limit counts.
#n = #heddle.dims<"n">
heddle.size @n max 100
// CHECK-LABEL: func.func @indices(
// CHECK-SAME:    %{{.*}}: tensor<?xi32, {{.*}}> {heddle.limit = 7 : i64, heddle.name = "words"}
// CHECK-SAME:    %{{.*}}: tensor<?xi32, {{.*}}> {heddle.limit = 2 : i64, heddle.name = "classes"}
// CHECK-SAME:    %{{.*}}: tensor<?xi32, {{.*}}> {heddle.limit = 5 : i64, heddle.name = "rows"}
// CHECK-SAME:    %{{.*}}: tensor<?xi32, {{.*}}> {heddle.name = "free"}
// CHECK-NOT:   plan.segments
func.func @indices(%words: tensor<?xi32, #n> {heddle.name = "words"},
                   %classes: tensor<?xi32, #n> {heddle.name = "classes", heddle.limit = 9 : i64},
                   %rows: tensor<?xi32, #n> {heddle.name = "rows", heddle.limit = 5 : i64},
                   %free: tensor<?xi32, #n> {heddle.name = "free"},
                   %table: tensor<7x2xf32> {heddle.name = "table"}, %cache: tensor<8x2xf32> {heddle.name = "cache"})
    -> (tensor<?xf32, #n>, tensor<8x2xf32>, tensor<?x2xf32, #n>) {
  %logits = heddle.embedding %words, %table : tensor<?xi32, #n>, tensor<7x2xf32> -> tensor<?x2xf32, #n>
  %loss, %lse = heddle.cross_entropy %logits, %classes {smoothing = 0.0 : f32} : tensor<?x2xf32, #n>, tensor<?xi32, #n> -> tensor<?xf32, #n>
  %new = heddle.scatter_rows %cache, %rows, %logits : tensor<8x2xf32>, tensor<?xi32, #n>, tensor<?x2xf32, #n>
  %places = heddle.sinusoid %free : tensor<?xi32, #n> -> tensor<?x2xf32, #n>
  return %loss, %new, %places : tensor<?xf32, #n>, tensor<8x2xf32>, tensor<?x2xf32, #n>
}

// -----

// Rows of a tensor with a run-time extent.
#n = #heddle.dims<"n">
#m = #heddle.dims<"m">
heddle.size @n max 100
heddle.size @m max 10
// CHECK-LABEL: func.func @varying(
// CHECK-SAME:    {heddle.limit = 100 : i64, heddle.name = "which"}
// CHECK-SAME:    plan.segments = [#plan.segments<at <"m", 0> first <0 plus[<"which" times 1 from 0>]> count <1> of <"n", 0>>]
func.func @varying(%which: tensor<?xi32, #m> {heddle.name = "which"}, %x: tensor<?x4xf32, #n> {heddle.name = "x"})
    -> tensor<?x4xf32, #m> {
  %y = heddle.embedding %which, %x : tensor<?xi32, #m>, tensor<?x4xf32, #n> -> tensor<?x4xf32, #m>
  return %y : tensor<?x4xf32, #m>
}

// -----

// Segments of queries and keys. Lengths are limited by the size that holds the longest one, unless that is its maximum.
#s = #heddle.dims<"s">
#q = #heddle.dims<"q">
heddle.size @s max 4
heddle.size @q max 64
heddle.size @longest max 16 longest "b"
heddle.size @rows max 16
!i = tensor<?xi32, #s>
!q = tensor<?x8xf32, #q>
// CHECK-LABEL: func.func @attention(
// CHECK-SAME:    #plan.segments<at <"s", 0> first <0 plus[<"a" times 1 from 0>]> count <0 plus[<"b" times 1 from 0>]> of <"q", 0>>
// CHECK-SAME:    #plan.segments<at <"s", 0> first <0> count <0 plus[<"d" times 1 from 0>]> of <"rows", 0>>
// CHECK-SAME:    #plan.segments<at <"s", 0> first <0 plus[<"c" times 1 from 0>]> count <0 plus[<"d" times 1 from 0>]> of <"", 32>>
// CHECK-NOT:     #plan.segments
func.func @attention(%a: !i {heddle.name = "a"}, %b: !i {heddle.name = "b", heddle.limit = 17 : i64},
                     %c: !i {heddle.name = "c"}, %d: !i {heddle.name = "d"}, %x: !q {heddle.name = "x"},
                     %k: tensor<32x8xf32> {heddle.name = "k"}, %r: tensor<?xi32, #heddle.dims<"rows">> {heddle.name = "r"}) -> !q {
  %y, %lse = heddle.attention %x, %k, %k queries(%a, %b) keys(%c, %d)
      {heads = 2 : i64, scale = 0.5 : f32, query_size = "longest", key_size = "rows"}
      : (!q, tensor<32x8xf32>, tensor<32x8xf32>, !i, !i, !i, !i) -> (!q, tensor<?x2xf32, #q>)
  return %y : !q
}

// -----

// Lists of rows: an input's rows are checked one by one. A window's last rows end at the segment's end.
#s = #heddle.dims<"s">
heddle.size @s max 4
heddle.size @longest max 16 longest "lengths"
!i = tensor<?xi32, #s>
!q = tensor<?x8xf32, #s>
// CHECK-LABEL: func.func @lists(
// CHECK-SAME:    {heddle.limit = 17 : i64, heddle.name = "lengths"}
// CHECK-SAME:    plan.segments = [#plan.segments<at <"s", 0> first <0> count <0 plus[<"lengths" times 1 from 0>]> of <"", 16> list "list" of <"", 32>>]
func.func @lists(%lengths: !i {heddle.name = "lengths"}, %x: !q {heddle.name = "x"}, %k: tensor<32x8xf32> {heddle.name = "k"},
                 %list: tensor<?x16xi32, #s> {heddle.name = "list"}) -> !q {
  %here = heddle.iota : !i
  %one = heddle.fill 1 : i32 : !i
  %zero = heddle.fill 0 : i32 : !i
  %scores = heddle.scores %x, %k rows(%list) queries(%here, %one) keys(%zero, %lengths) {query_size = "", key_size = "longest"}
      : (!q, tensor<32x8xf32>, tensor<?x16xi32, #s>, !i, !i, !i, !i) -> tensor<?x2x16xf32, #s>
  %y = heddle.context %scores, %k rows(%list) queries(%here, %one) keys(%zero, %lengths) {query_size = "", key_size = "longest"}
      : (tensor<?x2x16xf32, #s>, tensor<32x8xf32>, tensor<?x16xi32, #s>, !i, !i, !i, !i) -> !q
  return %y : !q
}
// CHECK-LABEL: func.func @window(
// CHECK-SAME:    plan.segments = [#plan.segments<at <"s", 0> first <0 plus[<"starts" times 1 from 0>]> count <0 plus[<"lengths" times 1 from 0>]> of <"", 32>>]
func.func @window(%starts: !i {heddle.name = "starts", heddle.limit = 33 : i64}, %lengths: !i {heddle.name = "lengths", heddle.limit = 17 : i64},
                  %x: !q {heddle.name = "x"}, %k: tensor<32x8xf32> {heddle.name = "k"}) -> !q {
  %here = heddle.iota : !i
  %one = heddle.fill 1 : i32 : !i
  %most = heddle.fill 5 : i32 : !i
  %seen = arith.minsi %lengths, %most : !i
  %hidden = arith.subi %lengths, %seen : !i
  %from = arith.addi %starts, %hidden : !i
  %y, %lse = heddle.attention %x, %k, %k queries(%here, %one) keys(%from, %seen)
      {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = "longest"}
      : (!q, tensor<32x8xf32>, tensor<32x8xf32>, !i, !i, !i, !i) -> (!q, tensor<?x2xf32, #s>)
  return %y : !q
}

// -----

// Sums, products with constants, slices and single numbers are traced to inputs.
#n = #heddle.dims<"n">
#part = #heddle.dims<"part">
heddle.size @n max 100
heddle.size @part max 60 of @n from 40
// CHECK-LABEL: func.func @arithmetic(
// CHECK-SAME:    {heddle.name = "a"}
// CHECK-SAME:    {heddle.name = "offset"}
// CHECK-SAME:    plan.segments = [#plan.segments<at <"part", 0> first <-1 plus[<"a" times 2 from 40>, <"offset" times 1 from 0>]> count <1> of <"", 9>>]
func.func @arithmetic(%a: tensor<?xi32, #n> {heddle.name = "a"}, %offset: tensor<1xi32> {heddle.name = "offset"},
                      %table: tensor<9x2xf32> {heddle.name = "table"}) -> tensor<?x2xf32, #part> {
  %two = heddle.fill 2 : i32 : tensor<?xi32, #n>
  %one = heddle.fill 1 : i32 : tensor<?xi32, #n>
  %b = arith.muli %a, %two : tensor<?xi32, #n>
  %c = heddle.broadcast %offset : tensor<1xi32> to tensor<?xi32, #n>
  %d = arith.addi %b, %c : tensor<?xi32, #n>
  %e = arith.subi %d, %one : tensor<?xi32, #n>
  %f = heddle.slice %e from 40 : tensor<?xi32, #n> to tensor<?xi32, #part>
  %y = heddle.embedding %f, %table : tensor<?xi32, #part>, tensor<9x2xf32> -> tensor<?x2xf32, #part>
  return %y : tensor<?x2xf32, #part>
}

// -----

// Indices that are within the rows anyway need no condition: clamped indices, results of the op itself, and rows that
// were searched.
#n = #heddle.dims<"n">
heddle.size @n max 100
// CHECK-LABEL: func.func @within(
// CHECK-SAME:    {heddle.name = "a"}
// CHECK-NOT:     plan.segments
func.func @within(%a: tensor<?xi32, #n> {heddle.name = "a"}, %table: tensor<9x4xf32> {heddle.name = "table"})
    -> (tensor<?x4xf32, #n>, tensor<9x4xf32>) {
  %zero = heddle.fill 0 : i32 : tensor<?xi32, #n>
  %last = heddle.fill 8 : i32 : tensor<?xi32, #n>
  %low = arith.maxsi %a, %zero : tensor<?xi32, #n>
  %b = arith.minsi %low, %last : tensor<?xi32, #n>
  %x = heddle.embedding %b, %table : tensor<?xi32, #n>, tensor<9x4xf32> -> tensor<?x4xf32, #n>
  %best = heddle.argmax %x : tensor<?x4xf32, #n> -> tensor<?xi32, #n>
  %y = heddle.embedding %best, %table : tensor<?xi32, #n>, tensor<9x4xf32> -> tensor<?x4xf32, #n>
  %first = heddle.find_first %b : tensor<?xi32, #n> -> tensor<9x1xi32>
  %sums = heddle.sum_equal %b, %first, %y : tensor<?xi32, #n>, tensor<9x1xi32>, tensor<?x4xf32, #n>
  %dense = heddle.densify %first, %sums : tensor<9x1xi32>, tensor<?x4xf32, #n> -> tensor<9x4xf32>
  return %sums, %dense : tensor<?x4xf32, #n>, tensor<9x4xf32>
}

// -----

// A variable that holds row numbers of another gets a limit if all written values keep it.
#s = #heddle.dims<"s">
heddle.size @s max 4
heddle.size @longest max 16 longest "lengths"
!i = tensor<?xi32, #s>
!q = tensor<?x8xf32, #s>
heddle.variable @keys cache : tensor<32x8xf32>
// CHECK: heddle.variable @history cache : tensor<4x16xi32> {heddle.limit = 32 : i64}
heddle.variable @history cache : tensor<4x16xi32>
func.func @init() {
  %zeros = heddle.fill 0 : i32 : tensor<4x16xi32>
  heddle.write @history, %zeros : tensor<4x16xi32>
  return
}
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    {heddle.limit = 4 : i64, heddle.name = "parents"}
// CHECK-SAME:    {heddle.limit = 32 : i64, heddle.name = "row"}
// CHECK-SAME:    {heddle.limit = 17 : i64, heddle.name = "lengths"}
// CHECK-NOT:     plan.segments
func.func @step(%parents: !i {heddle.name = "parents"}, %row: !i {heddle.name = "row"}, %place: !i {heddle.name = "place"},
                %lengths: !i {heddle.name = "lengths", heddle.limit = 17 : i64}, %x: !q {heddle.name = "x"}) -> !q {
  %old = heddle.read @history : tensor<4x16xi32>
  %past = heddle.embedding %parents, %old : !i, tensor<4x16xi32> -> tensor<?x16xi32, #s>
  %columns = heddle.iota : tensor<16xi32>
  %wide = heddle.broadcast %columns : tensor<16xi32> to tensor<?x16xi32, #s>
  %at = heddle.broadcast %place : !i to tensor<?x16xi32, #s>
  %new = arith.cmpi eq, %wide, %at : tensor<?x16xi32, #s>
  %rows = heddle.broadcast %row : !i to tensor<?x16xi32, #s>
  %list = arith.select %new, %rows, %past : tensor<?x16xi1, #s>, tensor<?x16xi32, #s>
  %here = heddle.iota : !i
  %history = heddle.scatter_rows %old, %here, %list : tensor<4x16xi32>, !i, tensor<?x16xi32, #s>
  heddle.write @history, %history : tensor<4x16xi32>
  %cache = heddle.read @keys : tensor<32x8xf32>
  %keys = heddle.scatter_rows %cache, %row, %x : tensor<32x8xf32>, !i, !q
  heddle.write @keys, %keys : tensor<32x8xf32>
  %one = heddle.fill 1 : i32 : !i
  %zero = heddle.fill 0 : i32 : !i
  %y, %lse = heddle.attention %x, %keys, %keys rows(%list) queries(%here, %one) keys(%zero, %lengths)
      {heads = 2 : i64, scale = 0.5 : f32, query_size = "", key_size = "longest"}
      : (!q, tensor<32x8xf32>, tensor<32x8xf32>, tensor<?x16xi32, #s>, !i, !i, !i, !i) -> (!q, tensor<?x2xf32, #s>)
  return %y : !q
}

// -----

// Segments that are pooled. A size holds the longest length.
#n = #heddle.dims<"n">
#s = #heddle.dims<"s">
heddle.size @n max 100
heddle.size @s max 4
heddle.size @longest max 30
!i = tensor<?xi32, #s>
// CHECK-LABEL: func.func @pool(
// CHECK-SAME:    #plan.segments<at <"s", 0> first <0 plus[<"a" times 1 from 0>]> count <0 plus[<"b" times 1 from 0>]> of <"n", 0>>
// CHECK-SAME:    #plan.segments<at <"s", 0> first <0> count <0 plus[<"b" times 1 from 0>]> of <"longest", 0>>
func.func @pool(%x: tensor<?x4xf32, #n> {heddle.name = "x"}, %a: !i {heddle.name = "a"}, %b: !i {heddle.name = "b"},
                %r: tensor<?xi32, #heddle.dims<"longest">> {heddle.name = "r"}) -> tensor<?x4xf32, #s> {
  %y = heddle.segment sum %x segments(%a, %b) {row_size = "longest"} : tensor<?x4xf32, #n>, !i -> tensor<?x4xf32, #s>
  return %y : tensor<?x4xf32, #s>
}
