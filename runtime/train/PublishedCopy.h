// A published model with some of its tensors changed, as a new folder or file.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/core/GgufTypes.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace heddle {

// Changes a tensor, f32 in the published shape. Fails where the tensor is another one than it was made for.
using TensorChange = std::function<Status(HostTensor &tensor)>;
using TensorChanges = std::map<std::string, TensorChange, std::less<>>; // by the tensor's name in the published model

// Fails where `base` is no published model, or `output` exists: before other work is done.
Status checkPublishedCopy(const std::filesystem::path &base, const std::filesystem::path &output);

// Writes the Hugging Face folder `base` anew as the folder `output`: all weights in f32, copies of tied matrices left
// out, which `model` does not read, and the other files as they are. Of a GGUF file it is a file, with the changed
// weights in types of `kind` and all else as it is. Fails where `output` exists; after a failure it is not there.
Status copyPublished(const std::filesystem::path &base, const std::filesystem::path &output, const Description &model,
                     const TensorChanges &changes, GgufKind kind = GgufKind::F32);

} // namespace heddle
