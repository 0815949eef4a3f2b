// A published model with the weights of a checkpoint, and a checkpoint's adapter in other programs' files.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/GgufTypes.h"

#include <filesystem>

namespace heddle {

// Writes the published model `base` with the weights of `checkpoint`, which is a checkpoint or a training run's folder.
// If `base` is a folder, `output` is one; if `base` is a GGUF file, `output` is a file of `kind`. `model` describes the
// artifact that was compiled from `base` and that was trained.
Status exportWeights(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                     const std::filesystem::path &output, const Description &model, const GgufType &kind);

// Writes the adapter of `checkpoint` to the model `base` as PEFT has it, into the new folder `output`, or as a GGUF
// file of llama.cpp's. `model` describes the artifact that was compiled from `base` with --lora.
Status exportPeftAdapter(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                         const std::filesystem::path &output, const Description &model);
Status exportGgufAdapter(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                         const std::filesystem::path &output, const Description &model);

} // namespace heddle
