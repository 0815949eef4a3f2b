// Merges an adapter into the weights of a published model: W + alpha / rank A B.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/model/Engine.h"

#include <filesystem>

namespace heddle {

// Merges the adapter of `checkpoint` (a checkpoint, a training run's folder, a PEFT folder or a GGUF file) into the
// published model `base`. If `base` is a Hugging Face folder, `output` is a new folder with all weights in f32 and
// copies of the other files. If `base` is a GGUF file, `output` is a file with the changed weights in f32 and
// everything else unchanged. `model` and `variables` are those of an artifact compiled from `base` with --lora.
Status mergeAdapter(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                    const std::filesystem::path &output, const Description &model,
                    std::span<const VariableInfo> variables);

} // namespace heddle
