// Keeps a program from writing over what it reads.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <string_view>
#include <vector>

namespace heddle::cli {

// Fails where the output that `flag` names is one of the inputs, by whatever name: a link to it, too. Names may be
// empty, of flags that are not given. Devices and pipes are not written over.
Status checkOutput(std::string_view flag, const std::filesystem::path &output,
                   const std::vector<std::filesystem::path> &inputs);

} // namespace heddle::cli
