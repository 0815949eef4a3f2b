// A published model with the weights of a checkpoint.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/GgufTypes.h"

#include <filesystem>

namespace heddle {

// Writes the published model `base` with the weights of `checkpoint` (a checkpoint or a training run's folder) as
// `output`: a folder, or of a GGUF file a file whose weights have types of `kind`. `model` is the description of an
// artifact that was compiled from `base`; the checkpoint is one of it, with weights of f32.
Status exportWeights(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                     const std::filesystem::path &output, const Description &model, GgufKind kind);

} // namespace heddle
