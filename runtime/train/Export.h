// Exports a checkpoint: as a published model with its weights, or as an adapter in other programs' files.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/GgufTypes.h"

#include <filesystem>

namespace heddle {

// Writes the published model `base` with the weights of `checkpoint`, a checkpoint or a training run's folder. If
// `base` is a folder, so is `output`; if `base` is a GGUF file, `output` is a file of `kind`. `model` describes the
// trained artifact, which was compiled from `base`.
Status exportWeights(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                     const std::filesystem::path &output, const Description &model, const GgufType &kind);

// Returns the weights file of a checkpoint or a training run's folder. Fails if the artifact that `model` describes has
// other adapters than the checkpoint.
Result<std::filesystem::path> findAdapterWeights(const std::filesystem::path &checkpoint, const Description &model);

// Writes the adapter of `checkpoint` for the model `base` into the new folder `output` in PEFT's format, or as a GGUF
// file for llama.cpp. `model` describes the artifact, which was compiled from `base` with --lora.
Status exportPeftAdapter(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                         const std::filesystem::path &output, const Description &model);
Status exportGgufAdapter(const std::filesystem::path &base, const std::filesystem::path &checkpoint,
                         const std::filesystem::path &output, const Description &model);

} // namespace heddle
