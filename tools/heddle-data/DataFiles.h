#pragma once

#include <string>
#include <utility>
#include <vector>

namespace heddle::demo {

// The names and contents of a data set's files, in the order in which the files are written.
using DataFiles = std::vector<std::pair<std::string, std::string>>;

} // namespace heddle::demo
