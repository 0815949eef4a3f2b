// Loads, saves and compares a session's variables, of any kind, in safetensors files: what `call` needs to check an
// entry.
#pragma once

#include "runtime/artifact/Meaning.h"
#include "runtime/session/Session.h"

#include <filesystem>
#include <span>
#include <string_view>

namespace heddle::run {

// Writes each tensor of the file to the variable of its name, or all weights of a Hugging Face folder.
Status loadVariables(Session &session, const std::filesystem::path &path, OtherMeaning others);

// Saves all variables that the entries read or write.
Status saveVariables(Session &session, std::span<const std::string_view> entries, const std::filesystem::path &path);

// Returns a variable's sort, for a comparison: its role, or its kind if it has no role. (Moments have the same kind as
// the loss's scale, and are small beside it.)
std::string sortOf(const VariableInfo &variable);

// Compares variables with the tensors of the file, by name, and prints the differences. Fails if an f32 variable
// differs by more than `tolerance`: the norm of its error over its own norm, or over a hundredth of the norm of the
// other variables of its sort if its own is almost zero beside it (gradients that are zero but for rounding). Integers
// must be equal.
Status expectVariables(Session &session, const std::filesystem::path &path, double tolerance);

// Returns the weights that the entry reads or writes.
std::vector<std::string> usedWeights(const Session &session, std::string_view entry);

} // namespace heddle::run
