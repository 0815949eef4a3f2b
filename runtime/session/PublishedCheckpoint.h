// Weights of a published model where a checkpoint is asked for.
#pragma once

#include "runtime/published/PublishedWeights.h"
#include "runtime/session/PackedWeights.h"

#include <filesystem>

namespace heddle {

// Whether the path is a Hugging Face folder, a GGUF file, or a safetensors file whose tensors have the names that the
// artifact's weights were published with.
bool isPublishedCheckpoint(const Session &session, const std::filesystem::path &path);

// Writes weights by `write`, which takes a variable's value: those that the file has packed as the artifact keeps them
// without rounding. The variables must outlive the sink.
WeightSink weightSink(Variables all, std::function<Status(std::string_view name, const TensorView &value)> write);

// Session::load of it. Nothing is changed unless it has all weights of these kinds.
Status loadPublishedCheckpoint(Session &session, const std::filesystem::path &path, const VariableKinds &kinds);

} // namespace heddle
