// A target that is a name of the published model means the published modules of this name only, as in PEFT, even if Heddle
// calls other weights so: `gate` is the router here, and `gate_proj` the experts' gates. Heddle's own names mean all
// others, such as `router`.
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,targets=gate' | FileCheck %s --check-prefix=ROUTER --implicit-check-not=lora_
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,targets=router' | FileCheck %s --check-prefix=ROUTER --implicit-check-not=lora_
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,targets=gate_proj' | FileCheck %s --check-prefix=GATES --implicit-check-not=lora_
// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,targets=gate,gate_proj' | FileCheck %s --check-prefix=BOTH

// ROUTER: heddle.variable @mlp.router.lora_a
// ROUTER: heddle.variable @mlp.router.lora_b
// ROUTER: heddle.read @mlp.router.lora_a
// ROUTER: heddle.read @mlp.router.lora_b
// GATES: heddle.variable @mlp.gate.lora_a
// GATES: heddle.variable @mlp.gate.lora_b
// GATES: heddle.read @mlp.gate.lora_a
// GATES: heddle.read @mlp.gate.lora_b
// BOTH: heddle.variable @mlp.router.lora_a
// BOTH: heddle.variable @mlp.gate.lora_a

#tokens = #heddle.dims<"tokens">
module attributes {heddle.description = "{\"tensors\": {\"mlp.router\": {\"from\": [\"a.mlp.gate.weight\"], \"transpose\": true}, \"mlp.gate\": {\"from\": [\"a.mlp.experts.*.gate_proj.weight\"], \"transpose\": true}}}"} {
heddle.size @tokens max 64
heddle.variable @mlp.router weight : tensor<4x3xf32> {start = #heddle.start<normal 0.5>}
heddle.variable @mlp.gate weight : tensor<4x8xf32> {start = #heddle.start<normal 0.5>}
func.func private @logits(%x: tensor<?x4xf32, #tokens> {heddle.name = "x"})
    -> (tensor<?x3xf32, #tokens> {heddle.name = "scores"}, tensor<?x8xf32, #tokens> {heddle.name = "y"}) attributes {heddle.model} {
  %router = heddle.read @mlp.router : tensor<4x3xf32>
  %scores = heddle.matmul %x, %router : tensor<?x4xf32, #tokens>, tensor<4x3xf32> -> tensor<?x3xf32, #tokens>
  %gate = heddle.read @mlp.gate : tensor<4x8xf32>
  %y = heddle.matmul %x, %gate : tensor<?x4xf32, #tokens>, tensor<4x8xf32> -> tensor<?x8xf32, #tokens>
  return %scores, %y : tensor<?x3xf32, #tokens>, tensor<?x8xf32, #tokens>
}
}
