// Variables of a session in safetensors files, by name and of any kind: what `call` needs to check one entry.
#pragma once

#include "runtime/session/Session.h"

#include <filesystem>
#include <span>
#include <string_view>

namespace heddle::run {

// Writes every tensor of the file to the variable of its name, or every weight of a Hugging Face folder.
Status loadVariables(Session &session, const std::filesystem::path &path);

// Saves all variables that the entries read or write.
Status saveVariables(Session &session, std::span<const std::string_view> entries, const std::filesystem::path &path);

} // namespace heddle::run
