// Loads the weights of a published model in place of a checkpoint.
#pragma once

#include "runtime/published/PublishedWeights.h"
#include "runtime/session/PackedWeights.h"

#include <filesystem>

namespace heddle {

// Returns true if the path is a Hugging Face folder, a GGUF file, or a safetensors file whose tensors have the names
// under which the artifact's weights were published.
bool isPublishedCheckpoint(const Session &session, const std::filesystem::path &path);

// A sink that passes each variable's value to `write`. Weights that are packed in the file as in the artifact are
// passed on without rounding. `all` must outlive the sink.
WeightSink weightSink(Variables all, std::function<Status(std::string_view name, const TensorView &value)> write);

// Session::load() for a published model. Changes nothing unless the file has all weights of these kinds.
Status loadPublishedCheckpoint(Session &session, const std::filesystem::path &path, const VariableKinds &kinds);

} // namespace heddle
