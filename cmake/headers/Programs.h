// For the programs: the runtime's headers, and those of the command line.
#include "cmake/headers/Runtime.h"

#include <CLI/CLI.hpp>
