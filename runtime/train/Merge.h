// A published model with an adapter added to its weights: W + alpha / rank A B.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/model/Engine.h"

#include <filesystem>

namespace heddle {

// Writes the model of the Hugging Face folder `base` with the adapter of `checkpoint` (a checkpoint, a training run's
// folder, a folder that PEFT wrote or a GGUF file) as the new folder `output`: all weights in f32, and the other files
// as they are. Of a GGUF file it is a file, with the changed weights in f32 and all else as it is. `model` and
// `variables` are those of an artifact that was compiled from `base` with --lora.
Status mergeAdapter(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                    const std::filesystem::path &output, const Description &model,
                    std::span<const VariableInfo> variables);

} // namespace heddle
