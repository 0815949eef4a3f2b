// Conditions on the rows and the unchanging states that a scan's step reads become conditions on the entry's inputs.
// Nothing is known outside about a state that changes.
// RUN: heddle-opt %s --heddle-derive-contract --split-input-file | FileCheck %s

#target = #heddle.dims<"target_tokens">
#source = #heddle.dims<"source_tokens">
#sequences = #heddle.dims<"sequences">
#step = #heddle.dims<"step">
heddle.size @target_tokens max 64
heddle.size @source_tokens max 32
heddle.size @sequences max 8
heddle.size @target_length max 16 longest "target_lengths"
heddle.size @source_length max 16 longest "source_lengths"
heddle.size @step max 8 of @sequences from 0
!numbers = tensor<?xi32, #sequences>
!number = tensor<?xi32, #step>
// Keys of the source, rows of a table by a token's number, and rows of another table by the sequence's number.
// CHECK-LABEL: func.func @fixed(
// CHECK-SAME: {heddle.limit = 7 : i64, heddle.name = "kinds"}
// CHECK-SAME: {heddle.limit = 5 : i64, heddle.name = "langs"}
// CHECK-SAME: #plan.segments<at <"sequences", 0> first <0 plus[<"source_starts" times 1 from 0>]> count <0 plus[<"source_lengths" times 1 from 0>]> of <"source_tokens", 0>>
func.func @fixed(%x: tensor<?x8xf32, #target> {heddle.name = "x"}, %kinds: tensor<?xi32, #target> {heddle.name = "kinds"},
                 %langs: !numbers {heddle.name = "langs"}, %n: tensor<?x8xf32, #source> {heddle.name = "n"},
                 %starts: !numbers {heddle.name = "target_starts"}, %lengths: !numbers {heddle.name = "target_lengths"},
                 %ks: !numbers {heddle.name = "source_starts"}, %kl: !numbers {heddle.name = "source_lengths"},
                 %seven: tensor<7x8xf32> {heddle.name = "seven"}, %five: tensor<5x8xf32> {heddle.name = "five"}) -> tensor<?x8xf32, #target> {
  %h0 = heddle.fill 0.0 : f32 : tensor<?x8xf32, #sequences>
  %last:4, %all = heddle.scan rows(%x, %kinds) states(%h0, %langs, %ks, %kl) constants(%n, %seven, %five) of(%starts, %lengths)
      {row_size = "target_length", step = "step"}
      : (tensor<?x8xf32, #target>, tensor<?xi32, #target>, tensor<?x8xf32, #sequences>, !numbers, !numbers, !numbers,
         tensor<?x8xf32, #source>, tensor<7x8xf32>, tensor<5x8xf32>, !numbers, !numbers)
      -> (tensor<?x8xf32, #sequences>, !numbers, !numbers, !numbers, tensor<?x8xf32, #target>) {
  ^bb0(%now: tensor<?x8xf32, #step>, %kind: !number, %h: tensor<?x8xf32, #step>, %lang: !number, %s: !number, %l: !number,
       %keys: tensor<?x8xf32, #source>, %a: tensor<7x8xf32>, %b: tensor<5x8xf32>):
    %0 = heddle.embedding %kind, %a : !number, tensor<7x8xf32> -> tensor<?x8xf32, #step>
    %1 = heddle.embedding %lang, %b : !number, tensor<5x8xf32> -> tensor<?x8xf32, #step>
    %2 = arith.addf %0, %1 : tensor<?x8xf32, #step>
    %3 = arith.addf %2, %h : tensor<?x8xf32, #step>
    %number = heddle.iota : !number
    %one = heddle.fill 1 : i32 : !number
    %scores = heddle.scores %3, %keys queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x8xf32, #step>, tensor<?x8xf32, #source>, !number, !number, !number, !number) -> tensor<?x1x16xf32, #step>
    %c = heddle.context %scores, %keys queries(%number, %one) keys(%s, %l) {query_size = "", key_size = "source_length"}
        : (tensor<?x1x16xf32, #step>, tensor<?x8xf32, #source>, !number, !number, !number, !number) -> tensor<?x8xf32, #step>
    heddle.yield %c, %lang, %s, %l, %c : tensor<?x8xf32, #step>, !number, !number, !number, tensor<?x8xf32, #step>
  }
  return %all : tensor<?x8xf32, #target>
}

// -----

// The gradients of scores have the same conditions on queries and keys as scores.
#q = #heddle.dims<"q">
#k = #heddle.dims<"k">
#s = #heddle.dims<"s">
heddle.size @q max 64
heddle.size @k max 32
heddle.size @s max 8
heddle.size @query_length max 16 longest "ql"
heddle.size @key_length max 16 longest "kl"
!numbers = tensor<?xi32, #s>
// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: #plan.segments<at <"s", 0> first <0 plus[<"qs" times 1 from 0>]> count <0 plus[<"ql" times 1 from 0>]> of <"q", 0>>
// CHECK-SAME: #plan.segments<at <"s", 0> first <0 plus[<"ks" times 1 from 0>]> count <0 plus[<"kl" times 1 from 0>]> of <"k", 0>>
func.func @gradients(%g: tensor<?x1x16xf32, #q> {heddle.name = "g"}, %x: tensor<?x8xf32, #q> {heddle.name = "x"},
                     %y: tensor<?x8xf32, #k> {heddle.name = "y"}, %qs: !numbers {heddle.name = "qs"}, %ql: !numbers {heddle.name = "ql"},
                     %ks: !numbers {heddle.name = "ks"}, %kl: !numbers {heddle.name = "kl"}) -> tensor<?x8xf32, #k> {
  %dk = heddle.scores_grad_key %g of %x, %y queries(%qs, %ql) keys(%ks, %kl) slope {
  ^bb0(%a: f32, %b: f32, %c: f32):
    heddle.yield %c : f32
  } {query_size = "query_length", key_size = "key_length"}
    : (tensor<?x1x16xf32, #q>, tensor<?x8xf32, #q>, tensor<?x8xf32, #k>, !numbers, !numbers, !numbers, !numbers) -> tensor<?x8xf32, #k>
  return %dk : tensor<?x8xf32, #k>
}
