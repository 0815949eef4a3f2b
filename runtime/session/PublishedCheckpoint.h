// Weights of a published model where a checkpoint is asked for.
#pragma once

#include "runtime/session/Session.h"

#include <filesystem>

namespace heddle {

// Whether the path is a Hugging Face folder, a GGUF file, or a safetensors file whose tensors have the names that the
// artifact's weights were published with.
bool isPublishedCheckpoint(const Session &session, const std::filesystem::path &path);

// Session::load of it. Nothing is changed unless it has all weights of these kinds.
Status loadPublishedCheckpoint(Session &session, const std::filesystem::path &path, const VariableKinds &kinds);

} // namespace heddle
