// Command lines that CLI11 reads, with what it says of mistakes replaced: the nearest flag or command is named.
#pragma once

#include "tools/cli/Program.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace heddle::cli {

// Gives the app a --version, and parses. Where the program is to end (a mistake, which is said on stderr; help; the
// version) its exit code is returned.
std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv);

// Parses a line of flags, in which quotes hold what has spaces together. Says what is wrong with it, as
// parseCommandLine does; an empty text where nothing is.
std::string parseFlags(CLI::App &app, const std::string &line);

} // namespace heddle::cli
