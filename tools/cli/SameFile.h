// Keeps a program from overwriting its inputs.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace heddle::cli {

// Fails if the output given by `flag` is the same file as one of the inputs, also through links. Empty names (flags not
// given) are ignored, as are outputs that are devices or pipes.
Status checkOutput(std::string_view flag, const std::filesystem::path &output,
                   const std::vector<std::filesystem::path> &inputs);

} // namespace heddle::cli
