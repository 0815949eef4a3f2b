// mlir-opt with Heddle's dialects and passes: runs passes on a .mlir file.
#include "compiler/Model/Import/Nesting.h"
#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Pipeline/WriteWhole.h"
#include "tools/cli/Program.h"
#include "tools/heddle-compile/LlvmFlags.h"

#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

/// Like MlirOptMain(), but writes the whole output or nothing, and reports a failed write as an error.
static LogicalResult run(StringRef input, StringRef output, DialectRegistry &registry,
                         const MlirOptMainConfig &config) {
  std::string problem, text;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &problem);
  if (!file) {
    llvm::errs() << "heddle-opt: " << problem << "\n";
    return failure();
  }
  if (auto place = mlir::heddle::findTooDeepMLIR(file->getBuffer())) {
    llvm::errs() << input << ":" << place->first << ":" << place->second << ": error: the module nests more than "
                 << mlir::heddle::kDeepestModule << " deep\n";
    return failure();
  }
  llvm::raw_string_ostream stream(text);
  LogicalResult result = MlirOptMain(stream, std::move(file), registry, config);
  if (failed(result) && output != "-")
    return failure();
  llvm::Error error = mlir::heddle::writeWhole(output, [&](raw_ostream &out) { out << text; });
  if (!error)
    return result;
  llvm::errs() << "heddle-opt: cannot write '" << output << "': " << llvm::toString(std::move(error)) << "\n";
  return failure();
}

/// Leaves MLIR's and Heddle's flags in --help, which are registered later. LLVM's own, some 400 of all its targets, stay
/// in --help-hidden.
static void hideFlagsOfLLVM() {
  for (auto &[name, flag] : llvm::cl::getRegisteredOptions())
    if (!StringRef(name).starts_with("help") && name != "version" && flag->getOptionHiddenFlag() == llvm::cl::NotHidden)
      flag->setHiddenFlag(llvm::cl::Hidden);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ::heddle::cli::beginProgram();
  hideFlagsOfLLVM();
  DialectRegistry registry;
  mlir::heddle::registerAllDialects(registry);
  mlir::heddle::registerAllPasses();
  registerTransformsPasses();
  llvm::cl::SetVersionPrinter([](raw_ostream &out) { out << ::heddle::cli::versionText("heddle-opt") << "\n"; });
  std::string about = registerCLIOptions("Heddle's pass driver\n", registry);
  if (std::string unknown = mlir::heddle::findUnknownFlag(argc, argv); !unknown.empty()) {
    llvm::errs() << "heddle-opt: " << unknown << "\n";
    return ::heddle::cli::kWrongCommandLine;
  }
  // As MLIR's parseCLIOptions(), but that exits with 1 if the command line is wrong.
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("Output filename"), llvm::cl::value_desc("filename"),
                                    llvm::cl::init("-"));
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, about, &llvm::errs()))
    return ::heddle::cli::kWrongCommandLine;
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldListPasses() || config.shouldShowDialects())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  MLIRContext context(registry);
  PassManager passes(&context, ModuleOp::getOperationName(), PassManager::Nesting::Implicit);
  if (failed(config.setupPassPipeline(passes))) // a pipeline or an option of a pass that does not exist
    return ::heddle::cli::kWrongCommandLine;
  return asMainReturnCode(run(input, output, registry, config));
}
