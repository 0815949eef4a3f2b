// Variables of a session in safetensors files, by name and of any kind: what `call` needs to check one entry.
#pragma once

#include "runtime/artifact/Meaning.h"
#include "runtime/session/Session.h"

#include <filesystem>
#include <span>
#include <string_view>

namespace heddle::run {

// Writes every tensor of the file to the variable of its name, or every weight of a Hugging Face folder.
Status loadVariables(Session &session, const std::filesystem::path &path, OtherMeaning others);

// Saves all variables that the entries read or write.
Status saveVariables(Session &session, std::span<const std::string_view> entries, const std::filesystem::path &path);

// The sort of a variable, for a comparison: its role, or, where it has none, its kind. Moments are small beside a
// loss's scale, which is of their kind too.
std::string sortOf(const VariableInfo &variable);

// Compares the variables of the file's names with it and prints how much they differ; an error where one of f32 differs
// by more than `tolerance`: the norm of its error over its own norm, or, where that is all but nothing beside the other
// variables of its sort (gradients that are zero but for rounding), over a hundredth of theirs. Integers must be equal.
Status expectVariables(Session &session, const std::filesystem::path &path, double tolerance);

// The weights that the entry reads or writes.
std::vector<std::string> usedWeights(const Session &session, std::string_view entry);

} // namespace heddle::run
