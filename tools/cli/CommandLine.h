// Parses command lines with CLI11, and replaces its error messages: ours name the nearest flag or command.
#pragma once

#include "tools/cli/Program.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace heddle::cli {

// Adds --version to the app, and parses. Returns an exit code if the program must end: after an error (printed to
// stderr), --help or --version.
std::optional<int> parseCommandLine(CLI::App &app, int argc, char **argv);

// Parses one line of flags; values with spaces are quoted. Returns the error message (worded as by parseCommandLine),
// or an empty string if the line is valid.
std::string parseFlags(CLI::App &app, const std::string &line);

} // namespace heddle::cli
