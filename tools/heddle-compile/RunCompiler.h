// The program heddle-compile as a function, so that other programs can add targets and call it.
#pragma once

namespace mlir::heddle {

/// Does what the command line says, and returns the exit code. A program with targets of its own registers them before
/// (compiler/Target/Backend.h).
int runCompiler(int argc, char **argv);

} // namespace mlir::heddle
