// RUN: heddle-opt %s --heddle-fuse-projections --split-input-file | FileCheck %s
// RUN: heddle-opt %s --heddle-fuse-projections --split-input-file --remarks-filter=fuse-projections -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// REMARK: [Passed] fused | Category:fuse-projections | Function=self | Into=project, What="3 projections of the same input"
// REMARK: [Missed] not fused | Category:fuse-projections | Function=cross | Reason="no other operand of the attention is a projection of the same input to the same width", What="projection of an attention's query"
// REMARK: Function=used_twice | Reason="it is no x W + b with a weight and a bias that it alone reads", What="projection of an attention's key"
// REMARK: Function=shared | Reason="a parameter is stored with others already, is used twice, or is not trained"

// Self-attention: queries, keys and values have one input. The parameters become views, and their state is stored
// likewise, in the order of the projections.
// CHECK-DAG: heddle.variable @"a.query+key+value.weight" weight : tensor<24x8xf32>
// CHECK-DAG: heddle.variable @a.query.weight weight : tensor<8x8xf32> in @"a.query+key+value.weight" from 0
// CHECK-DAG: heddle.variable @a.key.weight weight : tensor<8x8xf32> in @"a.query+key+value.weight" from 8
// CHECK-DAG: heddle.variable @a.value.weight weight : tensor<8x8xf32> in @"a.query+key+value.weight" from 16
// CHECK-DAG: heddle.variable @"a.query+key+value.bias" weight : tensor<24xf32>
// CHECK-DAG: heddle.variable @a.value.bias weight : tensor<8xf32> in @"a.query+key+value.bias" from 16
// CHECK-DAG: heddle.variable @"adam.m.a.query+key+value.weight" optimizer_state of @"a.query+key+value.weight" as first_moment : tensor<24x8xf32>
// CHECK-DAG: heddle.variable @adam.m.a.key.weight optimizer_state of @a.key.weight as first_moment : tensor<8x8xf32> in @"adam.m.a.query+key+value.weight" from 8
!x = tensor<?x8xf32, #heddle.dims<"n">>
!m = tensor<?x8xf32, #heddle.dims<"m">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @a.query.weight weight : tensor<8x8xf32>
heddle.variable @a.query.bias weight : tensor<8xf32>
heddle.variable @a.key.weight weight : tensor<8x8xf32>
heddle.variable @a.key.bias weight : tensor<8xf32>
heddle.variable @a.value.weight weight : tensor<8x8xf32>
heddle.variable @a.value.bias weight : tensor<8xf32>
heddle.variable @adam.m.a.query.weight optimizer_state of @a.query.weight as first_moment : tensor<8x8xf32>
heddle.variable @adam.m.a.key.weight optimizer_state of @a.key.weight as first_moment : tensor<8x8xf32>
heddle.variable @adam.m.a.value.weight optimizer_state of @a.value.weight as first_moment : tensor<8x8xf32>

// CHECK-LABEL: func.func @self(
// CHECK-NEXT:    %[[W:.*]] = heddle.read @"a.query+key+value.weight" : tensor<24x8xf32>
// CHECK-NEXT:    %[[B:.*]] = heddle.read @"a.query+key+value.bias" : tensor<24xf32>
// CHECK-NEXT:    %[[P:.*]]:3 = heddle.project %arg0, %[[W]], %[[B]]
// CHECK-NEXT:    heddle.attention %[[P]]#0, %[[P]]#1, %[[P]]#2
func.func @self(%x: !x, %s: !segments, %l: !segments) -> !x {
  %wq = heddle.read @a.query.weight : tensor<8x8xf32>
  %bq = heddle.read @a.query.bias : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %x, %wk : !x, tensor<8x8xf32> -> !x
  %rk = heddle.broadcast %bk : tensor<8xf32> to !x
  %k = arith.addf %pk, %rk : !x
  %wv = heddle.read @a.value.weight : tensor<8x8xf32>
  %bv = heddle.read @a.value.bias : tensor<8xf32>
  %pv = heddle.matmul %x, %wv : !x, tensor<8x8xf32> -> !x
  %rv = heddle.broadcast %bv : tensor<8xf32> to !x
  %v = arith.addf %pv, %rv : !x
  %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y : !x
}

// Other entries read a view like any other variable.
// CHECK-LABEL: func.func @elsewhere(
// CHECK-NEXT:    heddle.read @a.key.weight
func.func @elsewhere(%x: !x) -> !x {
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %x, %wk : !x, tensor<8x8xf32> -> !x
  %rk = heddle.broadcast %bk : tensor<8xf32> to !x
  %k = arith.addf %pk, %rk : !x
  return %k : !x
}

// -----

// Cross-attention: keys and values have one input, queries another.
// CHECK-DAG: heddle.variable @a.query.weight weight : tensor<8x8xf32>{{$}}
// CHECK-DAG: heddle.variable @"a.key+value.weight" weight : tensor<16x8xf32>
!x = tensor<?x8xf32, #heddle.dims<"n">>
!m = tensor<?x8xf32, #heddle.dims<"m">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @a.query.weight weight : tensor<8x8xf32>
heddle.variable @a.query.bias weight : tensor<8xf32>
heddle.variable @a.key.weight weight : tensor<8x8xf32>
heddle.variable @a.key.bias weight : tensor<8xf32>
heddle.variable @a.value.weight weight : tensor<8x8xf32>
heddle.variable @a.value.bias weight : tensor<8xf32>

// CHECK-LABEL: func.func @cross(
// CHECK:         %[[Q:.*]] = arith.addf
// CHECK:         %[[P:.*]]:2 = heddle.project %arg1,
// CHECK:         heddle.attention %[[Q]], %[[P]]#0, %[[P]]#1
func.func @cross(%x: !x, %memory: !m, %s: !segments, %l: !segments) -> !x {
  %wq = heddle.read @a.query.weight : tensor<8x8xf32>
  %bq = heddle.read @a.query.bias : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %memory, %wk : !m, tensor<8x8xf32> -> !m
  %rk = heddle.broadcast %bk : tensor<8xf32> to !m
  %k = arith.addf %pk, %rk : !m
  %wv = heddle.read @a.value.weight : tensor<8x8xf32>
  %bv = heddle.read @a.value.bias : tensor<8xf32>
  %pv = heddle.matmul %memory, %wv : !m, tensor<8x8xf32> -> !m
  %rv = heddle.broadcast %bv : tensor<8xf32> to !m
  %v = arith.addf %pv, %rv : !m
  %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !m, !m, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y : !x
}

// -----

// Not fused: a projection with another reader, a weight of another attention, and a weight used twice. Then fewer than
// two projections of the attention are left.
!x = tensor<?x8xf32, #heddle.dims<"n">>
!m = tensor<?x8xf32, #heddle.dims<"m">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @a.query.weight weight : tensor<8x8xf32>
heddle.variable @a.query.bias weight : tensor<8xf32>
heddle.variable @a.key.weight weight : tensor<8x8xf32>
heddle.variable @a.key.bias weight : tensor<8xf32>
heddle.variable @a.value.weight weight : tensor<8x8xf32>
heddle.variable @a.value.bias weight : tensor<8xf32>

// CHECK-LABEL: func.func @used_twice(
// CHECK-NOT:     heddle.project
func.func @used_twice(%x: !x, %memory: !m, %s: !segments, %l: !segments) -> (!x, !m) {
  %wq = heddle.read @a.query.weight : tensor<8x8xf32>
  %bq = heddle.read @a.query.bias : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %memory, %wk : !m, tensor<8x8xf32> -> !m
  %rk = heddle.broadcast %bk : tensor<8xf32> to !m
  %k = arith.addf %pk, %rk : !m
  %wv = heddle.read @a.value.weight : tensor<8x8xf32>
  %bv = heddle.read @a.value.bias : tensor<8xf32>
  %pv = heddle.matmul %memory, %wv : !m, tensor<8x8xf32> -> !m
  %rv = heddle.broadcast %bv : tensor<8xf32> to !m
  %v = arith.addf %pv, %rv : !m
  %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !m, !m, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y, %pk : !x, !m
}

// -----

!x = tensor<?x8xf32, #heddle.dims<"n">>
!m = tensor<?x8xf32, #heddle.dims<"m">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @a.query.weight weight : tensor<8x8xf32>
heddle.variable @a.query.bias weight : tensor<8xf32>
heddle.variable @a.key.weight weight : tensor<8x8xf32>
heddle.variable @a.key.bias weight : tensor<8xf32>
heddle.variable @a.value.weight weight : tensor<8x8xf32>
heddle.variable @a.value.bias weight : tensor<8xf32>

// CHECK-LABEL: func.func @shared(
// CHECK-NOT:     heddle.project
func.func @shared(%x: !x, %memory: !m, %s: !segments, %l: !segments) -> !x {
  %wq = heddle.read @a.query.weight : tensor<8x8xf32>
  %bq = heddle.read @a.query.bias : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %memory, %wk : !m, tensor<8x8xf32> -> !m
  %rk = heddle.broadcast %bk : tensor<8xf32> to !m
  %k = arith.addf %pk, %rk : !m
  %wv = heddle.read @a.key.weight : tensor<8x8xf32>
  %bv = heddle.read @a.key.bias : tensor<8xf32>
  %pv = heddle.matmul %memory, %wv : !m, tensor<8x8xf32> -> !m
  %rv = heddle.broadcast %bv : tensor<8xf32> to !m
  %v = arith.addf %pv, %rv : !m
  %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !m, !m, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y : !x
}

// -----

// A weight on which the loss also depends in another way must stay one variable for the optimizer.
!x = tensor<?x8xf32, #heddle.dims<"n">>
!m = tensor<?x8xf32, #heddle.dims<"m">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @a.query.weight weight : tensor<8x8xf32>
heddle.variable @a.query.bias weight : tensor<8xf32>
heddle.variable @a.key.weight weight : tensor<8x8xf32>
heddle.variable @a.key.bias weight : tensor<8xf32>
heddle.variable @a.value.weight weight : tensor<8x8xf32>
heddle.variable @a.value.bias weight : tensor<8xf32>

// CHECK-LABEL: func.func @trained(
// CHECK-NOT:     heddle.project
func.func @trained(%x: !x, %memory: !m, %s: !segments, %l: !segments) -> tensor<1xf32> {
  %wq = heddle.read @a.query.weight : tensor<8x8xf32>
  %bq = heddle.read @a.query.bias : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %memory, %wk : !m, tensor<8x8xf32> -> !m
  %rk = heddle.broadcast %bk : tensor<8xf32> to !m
  %k = arith.addf %pk, %rk : !m
  %wv = heddle.read @a.value.weight : tensor<8x8xf32>
  %bv = heddle.read @a.value.bias : tensor<8xf32>
  %pv = heddle.matmul %memory, %wv : !m, tensor<8x8xf32> -> !m
  %rv = heddle.broadcast %bv : tensor<8xf32> to !m
  %v = arith.addf %pv, %rv : !m
  %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !m, !m, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  %again = heddle.read @a.key.bias : tensor<8xf32>
  %loss = heddle.sum columns %again : tensor<8xf32> -> tensor<1xf32>
  heddle.accumulate %loss
  return %loss : tensor<1xf32>
}

// -----

// Attentions that share operands: the second one reads two of the first one's projections, the third one all of them.
!x = tensor<?x8xf32, #heddle.dims<"n">>
!segments = tensor<?xi32, #heddle.dims<"sequences">>
heddle.variable @a.query.weight weight : tensor<8x8xf32>
heddle.variable @a.query.bias weight : tensor<8xf32>
heddle.variable @a.key.weight weight : tensor<8x8xf32>
heddle.variable @a.key.bias weight : tensor<8xf32>
heddle.variable @a.value.weight weight : tensor<8x8xf32>
heddle.variable @a.value.bias weight : tensor<8xf32>

// CHECK-LABEL: func.func @shared(
// CHECK:         %[[P:.*]]:3 = heddle.project %arg0,
// CHECK-NOT:     heddle.project
// CHECK:         heddle.attention %[[P]]#0, %[[P]]#1, %[[P]]#2
// CHECK:         heddle.attention %[[P]]#0, %[[P]]#1, %arg1
// CHECK:         heddle.attention %[[P]]#0, %[[P]]#1, %[[P]]#2
func.func @shared(%x: !x, %other: !x, %s: !segments, %l: !segments) -> (!x, !x, !x) {
  %wq = heddle.read @a.query.weight : tensor<8x8xf32>
  %bq = heddle.read @a.query.bias : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @a.key.weight : tensor<8x8xf32>
  %bk = heddle.read @a.key.bias : tensor<8xf32>
  %pk = heddle.matmul %x, %wk : !x, tensor<8x8xf32> -> !x
  %rk = heddle.broadcast %bk : tensor<8xf32> to !x
  %k = arith.addf %pk, %rk : !x
  %wv = heddle.read @a.value.weight : tensor<8x8xf32>
  %bv = heddle.read @a.value.bias : tensor<8xf32>
  %pv = heddle.matmul %x, %wv : !x, tensor<8x8xf32> -> !x
  %rv = heddle.broadcast %bv : tensor<8xf32> to !x
  %v = arith.addf %pv, %rv : !x
  %y, %lse = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  %y1, %lse1 = heddle.attention %q, %k, %other queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 0.5 : f32, query_size = "n", key_size = "n"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  %y2, %lse2 = heddle.attention %q, %k, %v queries(%s, %l) keys(%s, %l)
    {heads = 2 : i64, scale = 1.0 : f32, query_size = "n", key_size = "n"}
    : (!x, !x, !x, !segments, !segments, !segments, !segments) -> (!x, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y, %y1, %y2 : !x, !x, !x
}

// -----

// Attention with its scores in memory.
!x = tensor<?x8xf32, #heddle.dims<"n">>
!scores = tensor<?x2x16xf32, #heddle.dims<"n">>
!segments = tensor<2xi32>
heddle.variable @q weight : tensor<8x8xf32>
heddle.variable @qb weight : tensor<8xf32>
heddle.variable @k weight : tensor<8x8xf32>
heddle.variable @kb weight : tensor<8xf32>
heddle.variable @v weight : tensor<8x8xf32>
heddle.variable @vb weight : tensor<8xf32>

// CHECK-LABEL: func.func @unfused(
// CHECK:    %[[P:.*]]:3 = heddle.project %arg0,
// CHECK-NEXT:    %[[S:.*]] = heddle.scores %[[P]]#0, %[[P]]#1
// CHECK-NEXT:    %[[W:.*]] = heddle.softmax %[[S]]
// CHECK-NEXT:    heddle.context %[[W]], %[[P]]#2
func.func @unfused(%x: !x, %s: !segments) -> !x {
  %wq = heddle.read @q : tensor<8x8xf32>
  %bq = heddle.read @qb : tensor<8xf32>
  %pq = heddle.matmul %x, %wq : !x, tensor<8x8xf32> -> !x
  %rq = heddle.broadcast %bq : tensor<8xf32> to !x
  %q = arith.addf %pq, %rq : !x
  %wk = heddle.read @k : tensor<8x8xf32>
  %bk = heddle.read @kb : tensor<8xf32>
  %pk = heddle.matmul %x, %wk : !x, tensor<8x8xf32> -> !x
  %rk = heddle.broadcast %bk : tensor<8xf32> to !x
  %k = arith.addf %pk, %rk : !x
  %wv = heddle.read @v : tensor<8x8xf32>
  %bv = heddle.read @vb : tensor<8xf32>
  %pv = heddle.matmul %x, %wv : !x, tensor<8x8xf32> -> !x
  %rv = heddle.broadcast %bv : tensor<8xf32> to !x
  %v = arith.addf %pv, %rv : !x
  %scores = heddle.scores %q, %k queries(%s, %s) keys(%s, %s) {query_size = "", key_size = ""}
    : (!x, !x, !segments, !segments, !segments, !segments) -> !scores
  %weights = heddle.softmax %scores : !scores
  %y = heddle.context %weights, %v queries(%s, %s) keys(%s, %s) {query_size = "", key_size = ""}
    : (!scores, !x, !segments, !segments, !segments, !segments) -> !x
  return %y : !x
}
