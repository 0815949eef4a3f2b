// The program heddle-compile, for a main of any program.
#ifndef HEDDLE_TOOLS_HEDDLE_COMPILE_PROGRAM_H
#define HEDDLE_TOOLS_HEDDLE_COMPILE_PROGRAM_H

namespace mlir::heddle {

/// Does as the command line says, and returns the exit code. A program that registers targets of its own
/// (compiler/Target/Backend.h) has done so before.
int runCompiler(int argc, char **argv);

} // namespace mlir::heddle

#endif
