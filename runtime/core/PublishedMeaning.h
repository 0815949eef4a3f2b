// What a published model's configuration says of its arithmetic, under the same names for config.json and for the keys
// of a GGUF file. The compiler stores it in the artifact, and whoever loads weights compares it with theirs.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace heddle {

// Values by name, such as "rotary_base": 500000; numbers are as f32. A value that the configuration leaves out has its
// published default; one that it does not tell is not there. Fails where the file cannot be read.
Result<nlohmann::json> readPublishedMeaning(const std::filesystem::path &path);

// The same values of a configuration that is read already, with the keys of config.json.
nlohmann::json publishedMeaning(const nlohmann::json &config);

} // namespace heddle
