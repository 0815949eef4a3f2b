// The arithmetic of a published model according to its configuration, with the same names for config.json and for the
// keys of a GGUF file. The compiler stores it in the artifact, and loading weights compares it with theirs.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle {

// Returns values by name, such as "rotary_base": 500000, with numbers rounded to f32. A value that the configuration
// omits has its published default. Values that cannot be known are absent. Fails if the file cannot be read.
Result<nlohmann::json> readPublishedMeaning(const std::filesystem::path &path);

// The same for a configuration in memory that has the keys of config.json.
nlohmann::json publishedMeaning(const nlohmann::json &config);

// Returns llama.cpp's name of an architecture, given that name or a folder's in lower case without "ForCausalLM". Other names stay as they are.
// Mixtral, which llama.cpp calls "llama", is "mixtral".
std::string commonArchitecture(std::string_view name);

} // namespace heddle
