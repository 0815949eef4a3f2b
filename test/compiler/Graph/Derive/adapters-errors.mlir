// RUN: heddle-opt %s --heddle-add-adapters='lora=rank=2,targets=query' --split-input-file --verify-diagnostics

// expected-error @+1 {{the attribute heddle.description should be a JSON object, as the importer writes it}}
module attributes {heddle.description = "a model"} {
  heddle.variable @query.weight weight : tensor<4x4xf32>
  func.func private @logits(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {heddle.model} {
    %w = heddle.read @query.weight : tensor<4x4xf32>
    %y = heddle.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}

// -----

// expected-error @+1 {{cannot have an adapter of rank 2, as the module has 'query.lora_a' already}}
heddle.variable @query.weight weight : tensor<4x4xf32>
heddle.variable @query.lora_a weight : tensor<4x8xf32>
func.func private @logits(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {heddle.model} {
  %w = heddle.read @query.weight : tensor<4x4xf32>
  %y = heddle.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
