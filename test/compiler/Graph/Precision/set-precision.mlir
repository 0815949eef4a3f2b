// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16}))' | FileCheck %s
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=f16}))' | FileCheck %s --check-prefix=F16
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=tf32}))' | FileCheck %s --check-prefix=TF32 --implicit-check-not=truncf
// RUN: heddle-opt %s --pass-pipeline='builtin.module(func.func(heddle-set-precision{precision=bf16x3}))' | FileCheck %s --check-prefix=THREE

// An operand is the sum of two bf16 numbers, computed once. The matmul of both low parts is left out.
// THREE-LABEL: func.func @twice
// THREE-SAME: (%[[X:.*]]: tensor<?x8xf32, {{.*}}>, %[[W:.*]]: tensor<8x8xf32>)
// THREE: %[[HIGH_W:.*]] = arith.truncf %[[W]]
// THREE: %[[WIDE_W:.*]] = arith.extf %[[HIGH_W]]
// THREE: %[[REST_W:.*]] = arith.subf %[[W]], %[[WIDE_W]]
// THREE: %[[LOW_W:.*]] = arith.truncf %[[REST_W]]
// THREE: %[[HIGH_X:.*]] = arith.truncf %[[X]]
// THREE: %[[REST_X:.*]] = arith.subf %[[X]]
// THREE: %[[LOW_X:.*]] = arith.truncf %[[REST_X]]
// THREE-DAG: %[[A:.*]] = heddle.matmul %[[HIGH_X]], %[[LOW_W]] :
// THREE-DAG: %[[B:.*]] = heddle.matmul %[[LOW_X]], %[[HIGH_W]] :
// THREE: %[[SMALL:.*]] = arith.addf %[[A]], %[[B]]
// THREE: %[[LARGE:.*]] = heddle.matmul %[[HIGH_X]], %[[HIGH_W]] :
// THREE: %[[Y:.*]] = arith.addf %[[LARGE]], %[[SMALL]]
// THREE: arith.truncf %[[Y]]
// THREE-COUNT-3: heddle.matmul {{.*}} {transpose_rhs}
// Attention stays in f32.
// THREE-LABEL: func.func @attention
// THREE-NOT: truncf
// THREE: heddle.attention {{.*}} : (tensor<?x32xf32

// F16-LABEL: func.func @twice
// F16: arith.truncf {{.*}} to tensor<{{.*}}xf16
// F16: heddle.matmul {{.*}} : tensor<?x8xf16, {{.*}}>, tensor<8x8xf16> -> tensor<?x8xf32

// Only those tf32 matmuls are marked that tensor cores can compute.
// TF32-LABEL: func.func @twice
// TF32-COUNT-2: heddle.matmul {{.*}}heddle.tf32{{.*}} : tensor<?x8xf32
// TF32-LABEL: func.func @attention
// TF32: heddle.attention {{.*}}heddle.tf32
// TF32-LABEL: func.func @narrow
// TF32-NOT: heddle.tf32

heddle.size @n max 64
heddle.size @longest max 16 longest "lengths"

// An operand is rounded once, where it is computed. Sums stay in f32.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32, {{.*}}>, %[[W:.*]]: tensor<8x8xf32>)
// CHECK-DAG: %[[RX:.*]] = arith.truncf %[[X]] : tensor<?x8xf32, {{.*}}> to tensor<?x8xbf16, {{.*}}>
// CHECK-DAG: %[[RW:.*]] = arith.truncf %[[W]] : tensor<8x8xf32> to tensor<8x8xbf16>
// CHECK: %[[Y:.*]] = heddle.matmul %[[RX]], %[[RW]] : {{.*}} -> tensor<?x8xf32, {{.*}}>
// CHECK: %[[RY:.*]] = arith.truncf %[[Y]]
// CHECK: heddle.matmul %[[RY]], %[[RW]] {transpose_rhs}
// CHECK-NOT: truncf
func.func @twice(%x: tensor<?x8xf32, #heddle.dims<"n">>, %w: tensor<8x8xf32>) -> tensor<?x8xf32, #heddle.dims<"n">> {
  %y = heddle.matmul %x, %w : tensor<?x8xf32, #heddle.dims<"n">>, tensor<8x8xf32> -> tensor<?x8xf32, #heddle.dims<"n">>
  %z = heddle.matmul %y, %w {transpose_rhs} : tensor<?x8xf32, #heddle.dims<"n">>, tensor<8x8xf32> -> tensor<?x8xf32, #heddle.dims<"n">>
  return %z : tensor<?x8xf32, #heddle.dims<"n">>
}

// Heads of 16 columns and whole sequences of queries use tensor cores.
// CHECK-LABEL: func.func @attention
// CHECK-COUNT-3: arith.truncf
// CHECK: heddle.attention {{.*}} : (tensor<?x32xbf16
// CHECK-SAME: -> (tensor<?x32xf32
func.func @attention(%q: tensor<?x32xf32, #heddle.dims<"n">>, %k: tensor<?x32xf32, #heddle.dims<"n">>,
                     %v: tensor<?x32xf32, #heddle.dims<"n">>, %starts: tensor<2xi32>, %lengths: tensor<2xi32>)
    -> (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>) {
  %y, %lse = heddle.attention %q, %k, %v queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "longest", key_size = "longest"}
      : (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x32xf32, #heddle.dims<"n">>,
         tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y, %lse : tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>
}

// Heads of 8 columns are narrower than the K extent of an instruction: no tensor cores.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: truncf
// CHECK: heddle.attention {{.*}} : (tensor<?x32xf32
func.func @narrow(%q: tensor<?x32xf32, #heddle.dims<"n">>, %starts: tensor<2xi32>, %lengths: tensor<2xi32>)
    -> tensor<?x32xf32, #heddle.dims<"n">> {
  %y, %lse = heddle.attention %q, %q, %q queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 4 : i64, scale = 0.25 : f32, query_size = "longest", key_size = "longest"}
      : (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x32xf32, #heddle.dims<"n">>,
         tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x4xf32, #heddle.dims<"n">>)
  return %y : tensor<?x32xf32, #heddle.dims<"n">>
}

// One query for each sequence: no tensor cores.
// CHECK-LABEL: func.func @decode
// CHECK-NOT: truncf
// CHECK: heddle.attention {{.*}} : (tensor<?x32xf32
func.func @decode(%q: tensor<?x32xf32, #heddle.dims<"n">>, %starts: tensor<2xi32>, %lengths: tensor<2xi32>)
    -> tensor<?x32xf32, #heddle.dims<"n">> {
  %y, %lse = heddle.attention %q, %q, %q queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "", key_size = "longest"}
      : (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x32xf32, #heddle.dims<"n">>,
         tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<?x32xf32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y : tensor<?x32xf32, #heddle.dims<"n">>
}

// A weight stored in the same 16-bit type is an operand as it is. A matmul of other weights stays in f32, without tf32.
// CHECK-LABEL: func.func @stored
// CHECK-DAG: %[[W:.*]] = heddle.read @half : tensor<8x8xbf16>
// CHECK-DAG: %[[X:.*]] = arith.truncf %{{.*}} to tensor<?x8xbf16
// CHECK: heddle.matmul %[[X]], %[[W]] : tensor<?x8xbf16, {{.*}}>, tensor<8x8xbf16>
// F16-LABEL: func.func @stored
// F16: heddle.matmul %{{.*}} : tensor<?x8xf32, {{.*}}>, tensor<8x8xf32>
// TF32-LABEL: func.func @stored
// TF32-NOT: heddle.tf32
heddle.variable @half frozen : tensor<8x8xbf16>
func.func @stored(%x: tensor<?x8xf32, #heddle.dims<"n">>) -> tensor<?x8xf32, #heddle.dims<"n">> {
  %half = heddle.read @half : tensor<8x8xbf16>
  %w = arith.extf %half : tensor<8x8xbf16> to tensor<8x8xf32>
  %y = heddle.matmul %x, %w : tensor<?x8xf32, #heddle.dims<"n">>, tensor<8x8xf32> -> tensor<?x8xf32, #heddle.dims<"n">>
  return %y : tensor<?x8xf32, #heddle.dims<"n">>
}

// A matmul's logits are rounded for the cross entropy and its gradient only.
// CHECK-LABEL: func.func @logits(
// CHECK: %[[LOGITS:.*]] = heddle.matmul
// CHECK: %[[HALF:.*]] = arith.truncf %[[LOGITS]] : tensor<?x24xf32, {{.*}}> to tensor<?x24xbf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[HALF]]
// CHECK: heddle.cross_entropy %[[WIDE]],
// CHECK: heddle.cross_entropy_grad %[[WIDE]],
// CHECK: heddle.argmax %[[LOGITS]]
// TF32-LABEL: func.func @logits(
// THREE-LABEL: func.func @logits(
// THREE: heddle.cross_entropy %[[SUM:.*]], %{{.*}}
func.func @logits(%x: tensor<?x8xf32, #heddle.dims<"n">>, %w: tensor<24x8xf32>, %t: tensor<?xi32, #heddle.dims<"n">>)
    -> (tensor<?x24xf32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>) {
  %logits = heddle.matmul %x, %w {transpose_rhs} : tensor<?x8xf32, #heddle.dims<"n">>, tensor<24x8xf32> -> tensor<?x24xf32, #heddle.dims<"n">>
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32}
    : tensor<?x24xf32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  %grad = heddle.cross_entropy_grad %logits, %t, %lse, %loss {smoothing = 0.1 : f32}
    : tensor<?x24xf32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>, tensor<?xf32, #heddle.dims<"n">>
  %best = heddle.argmax %logits : tensor<?x24xf32, #heddle.dims<"n">> -> tensor<?xi32, #heddle.dims<"n">>
  return %grad, %best : tensor<?x24xf32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">>
}

// With few classes logits cause little traffic, and stay in f32.
// CHECK-LABEL: func.func @few_classes(
// CHECK: %[[LOGITS:.*]] = heddle.matmul
// CHECK-NEXT: heddle.cross_entropy %[[LOGITS]],
func.func @few_classes(%x: tensor<?x8xf32, #heddle.dims<"n">>, %w: tensor<4x8xf32>, %t: tensor<?xi32, #heddle.dims<"n">>)
    -> tensor<?xf32, #heddle.dims<"n">> {
  %logits = heddle.matmul %x, %w {transpose_rhs} : tensor<?x8xf32, #heddle.dims<"n">>, tensor<4x8xf32> -> tensor<?x4xf32, #heddle.dims<"n">>
  %loss, %lse = heddle.cross_entropy %logits, %t {smoothing = 0.1 : f32}
    : tensor<?x4xf32, #heddle.dims<"n">>, tensor<?xi32, #heddle.dims<"n">> -> tensor<?xf32, #heddle.dims<"n">>
  return %loss : tensor<?xf32, #heddle.dims<"n">>
}

// The delta rounds the gradient as both kernels of the backward pass do. Heads of 128 columns have their keys' gradient
// in f32.
// TF32-LABEL: func.func @backward(
// TF32: heddle.attention_delta {{.*}} {heddle.tf32}
// TF32: heddle.attention_grad_key_value {{.*}}heddle.tf32
// TF32-LABEL: func.func @wide_backward(
// TF32: heddle.attention_delta
// TF32-NOT: heddle.tf32
// TF32-SAME: ->
// TF32: heddle.attention_grad_key_value {{.*}}heddle.tf32
!rows = tensor<?x128xf32, #heddle.dims<"n">>
!two = tensor<?x2xf32, #heddle.dims<"n">>
!one = tensor<?x1xf32, #heddle.dims<"n">>
func.func @backward(%x: !rows, %y: !rows, %g: !rows, %lse: !two, %starts: tensor<2xi32>, %lengths: tensor<2xi32>) -> (!rows, !rows) {
  %delta = heddle.attention_delta %y, %g : !rows -> !two
  %dk, %dv = heddle.attention_grad_key_value %x, %x, %x gradient %g, %lse, %delta queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "longest", key_size = "longest"}
      : (!rows, !rows, !rows, !rows, !two, !two, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (!rows, !rows)
  return %dk, %dv : !rows, !rows
}
func.func @wide_backward(%x: !rows, %y: !rows, %g: !rows, %lse: !one, %starts: tensor<2xi32>, %lengths: tensor<2xi32>) -> (!rows, !rows) {
  %delta = heddle.attention_delta %y, %g : !rows -> !one
  %dk, %dv = heddle.attention_grad_key_value %x, %x, %x gradient %g, %lse, %delta queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 1 : i64, scale = 0.25 : f32, query_size = "longest", key_size = "longest"}
      : (!rows, !rows, !rows, !rows, !one, !one, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (!rows, !rows)
  return %dk, %dv : !rows, !rows
}
