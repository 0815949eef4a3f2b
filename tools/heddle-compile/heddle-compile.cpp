// Compiles a model to an artifact. `heddle-compile --help` has the command line.
#include "tools/heddle-compile/RunCompiler.h"

int main(int argc, char **argv) { return mlir::heddle::runCompiler(argc, argv); }
