#include "tools/heddle-compile/FatalErrors.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace mlir::heddle;

static const char *programName = "", *messageForMemory = "";

/// Ends the process for the first thread that calls this. Later threads wait for the end: if they went on, LLVM would
/// call abort() or exit() beside the first one, and their locks can wait for each other forever. Allocates no memory.
[[noreturn]] static void end(const char *what, const char *reason, const char *hint) {
  static std::atomic_flag isEnding;
  while (isEnding.test_and_set())
    ::pause();
  std::fprintf(stderr, "%s: error: %s%s%s\n", programName, what, reason, hint);
  llvm::sys::RunInterruptHandlers(); // they remove half-written files
  std::_Exit(1);
}

static void endWithReason(void *, const char *reason, bool) {
  if (llvm::StringRef(reason).starts_with("pthread_create failed"))
    end("the system gives the compiler no more threads: ", reason,
        "; end other programs, or raise the limit (ulimit -u)");
  end("LLVM failed: ", reason, "");
}

static void endWithoutMemory(void *, const char *, bool) { end(messageForMemory, "", ""); }

void mlir::heddle::handleFatalErrors(const char *program, const char *memoryMessage) {
  programName = program;
  messageForMemory = memoryMessage;
  llvm::install_fatal_error_handler(endWithReason);
  llvm::install_bad_alloc_error_handler(endWithoutMemory);
}
