// Language server for .mlir files: mlir-lsp-server with Heddle's dialects. It speaks the Language Server Protocol on
// standard input and output.
#include "compiler/Pipeline/Pipeline.h"
#include "tools/cli/Program.h"
#include "tools/heddle-lsp-server/ShallowMessages.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

int main(int argc, char **argv) {
  ::heddle::cli::beginProgram();
  llvm::cl::SetVersionPrinter([](raw_ostream &out) { out << ::heddle::cli::versionText("heddle-lsp-server") << "\n"; });
  DialectRegistry registry;
  mlir::heddle::registerAllDialects(registry);
  mlir::heddle::registerTooDeepDialect(registry);
  // With these flags (tests of mlir-lsp-server) messages have no length headers, which the filter needs.
  bool isDelimited = llvm::any_of(llvm::ArrayRef(argv, static_cast<size_t>(argc)), [](StringRef argument) {
    return argument.contains("lit-test") || argument.contains("input-style");
  });
  if (!isDelimited && !mlir::heddle::filterStandardInput())
    return ::heddle::cli::kWorkFailed;
  return succeeded(MlirLspServerMain(argc, argv, registry)) ? 0 : ::heddle::cli::kWorkFailed;
}
