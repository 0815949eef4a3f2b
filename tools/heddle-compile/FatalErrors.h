// Errors of LLVM that end the program.
#pragma once

namespace mlir::heddle {

/// From here on an error that LLVM cannot recover from ends the process with one message, "PROGRAM: error: ...", and
/// exit code 1, even if several threads fail at the same time. Half-written files are removed. `memoryMessage` is
/// printed if memory runs out. Both strings must live as long as the process. Call this after llvm::InitLLVM.
void handleFatalErrors(const char *program, const char *memoryMessage);

} // namespace mlir::heddle
