// Attention on Hopper: queries, keys and values come to shared memory in panels. Warpgroups multiply queries by keys,
// and probabilities in registers by values.
// RUN: heddle-compile %s -o %t.heddle --target=cuda:sm_90a --precision=bf16 --ptxas=none
// RUN: heddle-inspect %t.heddle --kernel=attention_Tx512 | FileCheck %s --implicit-check-not=ldmatrix
// RUN: heddle-compile %s -o %t.80.heddle --target=cuda:sm_80 --precision=bf16 --ptxas=none
// RUN: heddle-inspect %t.80.heddle --kernel=attention_Tx512 | FileCheck %s --check-prefix=OLDER

// Values are read transposed, keys are not.
// CHECK: .maxntid 256
// CHECK-DAG: fence.proxy.async.shared::cta;
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, adds, 1, 1, 0, 0;
// CHECK-DAG: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}{%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd{{[0-9]+}}, adds, 1, 1, 1;
// CHECK-DAG: wgmma.wait_group.sync.aligned 0;

// OLDER: mma.sync
// OLDER-NOT: wgmma

heddle.size @n max 8192
heddle.size @sequences max 4
heddle.size @longest max 4096 longest "lengths"

func.func @forward(%x: tensor<?x512xf32, #heddle.dims<"n">> {heddle.name = "x"},
                   %starts: tensor<?xi32, #heddle.dims<"sequences">> {heddle.name = "starts", heddle.limit = 8193 : i64},
                   %lengths: tensor<?xi32, #heddle.dims<"sequences">> {heddle.name = "lengths", heddle.limit = 4097 : i64})
    -> (tensor<?x512xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %y, %lse = heddle.attention %x, %x, %x queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 8 : i64, scale = 0.25 : f32, query_size = "longest", key_size = "longest"}
      : (tensor<?x512xf32, #heddle.dims<"n">>, tensor<?x512xf32, #heddle.dims<"n">>, tensor<?x512xf32, #heddle.dims<"n">>,
         tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">>,
         tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">>)
      -> (tensor<?x512xf32, #heddle.dims<"n">>, tensor<?x8xf32, #heddle.dims<"n">>)
  return %y : tensor<?x512xf32, #heddle.dims<"n">>
}
