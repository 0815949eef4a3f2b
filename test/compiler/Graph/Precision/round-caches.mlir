// RUN: heddle-opt %s --split-input-file --verify-diagnostics --heddle-round-variables=caches=f16 | FileCheck %s
// RUN: not heddle-opt %s --heddle-round-variables=caches=tf32 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: error: caches are rounded to f16 or bf16, not to 'tf32'

!x = tensor<?x8xf32, #heddle.dims<"n">>
!i = tensor<?xi32, #heddle.dims<"n">>
!lse = tensor<?x2xf32, #heddle.dims<"n">>
heddle.size @n max 4
heddle.size @cache_length max 16

// Keys and values are rounded. Variables that others read too, variables with an odd number of columns, and variables
// that are no caches are not.
// CHECK: heddle.variable @keys cache : tensor<16x8xf16>
// CHECK: heddle.variable @values cache : tensor<16x8xf16>
// CHECK: heddle.variable @shared cache : tensor<16x8xf32>
// CHECK: heddle.variable @other cache : tensor<16x8xf32>
// CHECK: heddle.variable @weight weight : tensor<16x8xf32>
heddle.variable @keys cache : tensor<16x8xf32>
heddle.variable @values cache : tensor<16x8xf32>
heddle.variable @shared cache : tensor<16x8xf32>
heddle.variable @other cache : tensor<16x8xf32>
heddle.variable @weight weight : tensor<16x8xf32>

// New rows are rounded; queries are not.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32
// CHECK: %[[OLD:.*]] = heddle.read @keys : tensor<16x8xf16>
// CHECK: %[[ROWS:.*]] = arith.truncf %[[Q]] : {{.*}} to tensor<?x8xf16
// CHECK: %[[NEW:.*]] = heddle.scatter_rows %[[OLD]], %{{.*}}, %[[ROWS]]
// CHECK: heddle.write @keys, %[[NEW]] : tensor<16x8xf16>
// CHECK: %[[VALUES:.*]] = heddle.read @values : tensor<16x8xf16>
// CHECK: heddle.attention %[[Q]], %[[NEW]], %[[VALUES]]
// CHECK: heddle.attention %[[Q]], %{{.*}}, %{{.*}} : {{.*}} -> (tensor<?x8xf32
func.func @step(%q: !x, %at: !i, %starts: !i, %lengths: !i) -> (!x, !x, !x) {
  %old = heddle.read @keys : tensor<16x8xf32>
  %new = heddle.scatter_rows %old, %at, %q : tensor<16x8xf32>, !i, !x
  heddle.write @keys, %new : tensor<16x8xf32>
  %values = heddle.read @values : tensor<16x8xf32>
  %y, %lse = heddle.attention %q, %new, %values queries(%at, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, key_size = "cache_length", query_size = "", scale = 5.0e-01 : f32}
      : (!x, tensor<16x8xf32>, tensor<16x8xf32>, !i, !i, !i, !i) -> (!x, !lse)
  %shared = heddle.read @shared : tensor<16x8xf32>
  %weight = heddle.read @weight : tensor<16x8xf32>
  %z, %lse2 = heddle.attention %q, %shared, %weight queries(%at, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, key_size = "cache_length", query_size = "", scale = 5.0e-01 : f32}
      : (!x, tensor<16x8xf32>, tensor<16x8xf32>, !i, !i, !i, !i) -> (!x, !lse)
  %rows = heddle.embedding %at, %shared : !i, tensor<16x8xf32> -> !x
  return %y, %z, %rows : !x, !x, !x
}

// A cache's initial value is rounded too.
// CHECK-LABEL: func.func @init(
// CHECK: %[[ZERO:.*]] = heddle.fill 0
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[ZERO]] : tensor<16x8xf32> to tensor<16x8xf16>
// CHECK: heddle.write @values, %[[ROUNDED]] : tensor<16x8xf16>
func.func @init() {
  %zero = heddle.fill 0.0 : f32 : tensor<16x8xf32>
  heddle.write @values, %zero : tensor<16x8xf32>
  return
}

// -----

// expected-error@below {{no cache can be kept in 'f16': that takes fused attention to the tokens before, whose keys have an even number of columns}}
module {
  heddle.size @n max 4
  heddle.variable @state cache : tensor<16x8xf32>
  func.func @step(%at: tensor<?xi32, #heddle.dims<"n">>) -> tensor<?x8xf32, #heddle.dims<"n">> {
    %s = heddle.read @state : tensor<16x8xf32>
    %rows = heddle.embedding %at, %s : tensor<?xi32, #heddle.dims<"n">>, tensor<16x8xf32> -> tensor<?x8xf32, #heddle.dims<"n">>
    return %rows : tensor<?x8xf32, #heddle.dims<"n">>
  }
}
