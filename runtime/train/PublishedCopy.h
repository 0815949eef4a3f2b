// Copies a published model with some of its tensors changed, to a new folder or file.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/GgufTypes.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace heddle {

// Changes a tensor in place. It is f32 and has the published shape. Fails if the shape is not the expected one.
using TensorChange = std::function<Status(HostTensor &tensor)>;
using TensorChanges = std::map<std::string, TensorChange, std::less<>>; // by the tensor's name in the published model

// Fails if `base` is not a published model, or `output` must not be written (checkOutput() in CheckpointFolder.h).
// Callers check this before they read anything else.
Status checkPublishedCopy(const std::filesystem::path &base, const std::filesystem::path &output);

// Copies the published model `base` to `output` with the changes. A Hugging Face folder becomes a folder with all
// weights in f32; copies of the embedding that `model` does not read are left out, and the other files stay as they
// are. A GGUF file becomes a file of `kind`, in which tensors without a change keep their types. After a failure there
// is no output file or folder.
Status copyPublished(const std::filesystem::path &base, const std::filesystem::path &output, const Description &model,
                     const TensorChanges &changes, const GgufType &kind = *findGgufType(kGgufF32));

} // namespace heddle
