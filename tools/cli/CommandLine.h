// Command lines that CLI11 reads, with what it says of mistakes replaced: the nearest flag or command is named.
#pragma once

#include "tools/cli/Program.h"

#include <CLI/CLI.hpp>

#include <optional>

namespace heddle::cli {

// Gives the app a --version, and parses. Where the program is to end (a mistake, which is said on stderr; help; the
// version) its exit code is returned.
std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv);

} // namespace heddle::cli
