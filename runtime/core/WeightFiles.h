// The files in which a model's folder, as Hugging Face publishes it, has its weights.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <vector>

namespace heddle {

// Returns the files that model.safetensors.index.json names, or else model.safetensors, or the same of pytorch_model.bin
// if the folder has no safetensors. A folder may have other copies, such as model.fp16.safetensors: they are not read.
// Fails if the folder has no weights, or lacks a file that the index names.
Result<std::vector<std::filesystem::path>> findWeightFiles(const std::filesystem::path &folder);

} // namespace heddle
