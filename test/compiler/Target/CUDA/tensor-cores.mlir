// A matmul and attention on their whole way to tensor cores: asynchronous copies, operands from shared memory,
// mma.sync.
// RUN: heddle-compile %s -o %t.heddle --target=cuda:sm_80 --precision=bf16
// RUN: heddle-inspect %t.heddle --kernel=matmul_truncf_Tx64 | FileCheck %s --check-prefix=PRODUCT
// RUN: heddle-inspect %t.heddle --kernel=attention_Tx64 | FileCheck %s --check-prefix=ATTENTION
// RUN: heddle-inspect %t.heddle --kernel=attention_Tx64 | FileCheck %s --check-prefix=LOOP
// RUN: heddle-compile %s -o %t.f16.heddle --target=cuda:sm_80 --precision=f16
// RUN: heddle-inspect %t.f16.heddle --kernel=matmul_truncf_Tx64 | FileCheck %s --check-prefix=F16
// RUN: heddle-inspect %t.f16.heddle --kernel=attention_Tx64 | FileCheck %s --check-prefix=F16
// RUN: heddle-compile %s -o %t.tf32.heddle --target=cuda:sm_80 --precision=tf32
// RUN: heddle-inspect %t.tf32.heddle --kernel=matmul_Tx64 | FileCheck %s --check-prefix=TF32
// RUN: heddle-inspect %t.tf32.heddle --kernel=attention_Tx64 | FileCheck %s --check-prefix=TF32
// RUN: heddle-compile %s -o %t.f32.heddle --target=cuda:sm_80
// RUN: heddle-inspect %t.f32.heddle --kernel=matmul_Tx64 | FileCheck %s --check-prefix=F32
// RUN: heddle-compile %s -o %t.x3.heddle --target=cuda:sm_80 --precision=bf16x3
// RUN: heddle-inspect %t.x3.heddle | FileCheck %s --check-prefix=THREE
// RUN: heddle-compile %s -o %t.120.heddle --target=cuda:sm_120 --precision=bf16 --ptxas=none
// RUN: heddle-inspect %t.120.heddle --kernel=matmul_truncf_Tx64 | FileCheck %s --check-prefix=BLACKWELL

// Three matmuls are one kernel.
// THREE: matmul_matmul_matmul
// BLACKWELL: .version 8.7
// BLACKWELL: .target sm_120
// BLACKWELL: mma.sync.aligned.m16n8k16

// PRODUCT: .target sm_80
// PRODUCT: .visible .entry heddle_matmul_truncf_Tx64(
// PRODUCT: .maxntid 128
// PRODUCT: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r{{[0-9]+}};
// PRODUCT: cp.async.commit_group;
// PRODUCT: cp.async.wait_group 2;
// PRODUCT: bar.sync 0;
// PRODUCT: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PRODUCT: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PRODUCT: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

// A step is long, so ptxas is told not to unroll the loop.
// LOOP: .pragma "nounroll";

// The probabilities stay in the first matmul's registers as an operand of the second.
// ATTENTION-DAG: shfl.sync.bfly.b32
// ATTENTION-DAG: ex2.approx.ftz.f32
// ATTENTION-DAG: cvt.rn.bf16x2.f32
// ATTENTION-DAG: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// ATTENTION-NOT: st.shared

// F16: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// f32 operands are rounded to nearest, not truncated.
// TF32: cvt.rna.tf32.f32
// TF32: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

// F32-NOT: mma.sync
// F32: fma.rn.f32

heddle.size @n max 256
heddle.size @sequences max 4
heddle.size @longest max 128 longest "lengths"
heddle.variable @weight weight : tensor<64x64xf32>

func.func @forward(%x: tensor<?x64xf32, #heddle.dims<"n">> {heddle.name = "x"},
                   %starts: tensor<?xi32, #heddle.dims<"sequences">> {heddle.name = "starts", heddle.limit = 257 : i64},
                   %lengths: tensor<?xi32, #heddle.dims<"sequences">> {heddle.name = "lengths", heddle.limit = 129 : i64})
    -> (tensor<?x64xf32, #heddle.dims<"n">> {heddle.name = "y"}) {
  %w = heddle.read @weight : tensor<64x64xf32>
  %q = heddle.matmul %x, %w : tensor<?x64xf32, #heddle.dims<"n">>, tensor<64x64xf32> -> tensor<?x64xf32, #heddle.dims<"n">>
  %y, %lse = heddle.attention %q, %q, %q queries(%starts, %lengths) keys(%starts, %lengths)
      {heads = 2 : i64, scale = 0.25 : f32, query_size = "longest", key_size = "longest"}
      : (tensor<?x64xf32, #heddle.dims<"n">>, tensor<?x64xf32, #heddle.dims<"n">>, tensor<?x64xf32, #heddle.dims<"n">>,
         tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">>,
         tensor<?xi32, #heddle.dims<"sequences">>, tensor<?xi32, #heddle.dims<"sequences">>)
      -> (tensor<?x64xf32, #heddle.dims<"n">>, tensor<?x2xf32, #heddle.dims<"n">>)
  return %y : tensor<?x64xf32, #heddle.dims<"n">>
}
