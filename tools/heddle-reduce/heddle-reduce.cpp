// Reduces a module that shows a problem, for a bug report or a test.
#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Pipeline/WriteWhole.h"
#include "dialects/Heddle/Heddle.h"
#include "tools/cli/Program.h"
#include "tools/heddle-compile/Diagnostics.h"
#include "tools/heddle-compile/LlvmFlags.h"
#include "tools/heddle-compile/Output.h"
#include "tools/heddle-compile/ReadModel.h"
#include "tools/heddle-reduce/Reduce.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Program.h"

namespace cl = llvm::cl;
using namespace mlir;

namespace {

struct Flags {
  cl::OptionCategory category{"Reducing a module"};
  cl::opt<std::string> model{cl::Positional, cl::desc("MODULE.mlir"), cl::Required, cl::cat(category)};
  cl::opt<std::string> test{
      "test",
      cl::desc("A program that gets the name of a file with a module and ends with exit code 0 where the module "
               "shows the problem"),
      cl::value_desc("program"), cl::Required, cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Where to write the small module (default: standard output)"),
                              cl::value_desc("file"), cl::init("-"), cl::cat(category)};
};

int fail(const Twine &message) {
  llvm::errs() << "heddle-reduce: " << message << "\n";
  return ::heddle::cli::kWorkFailed;
}

size_t countOps(ModuleOp module) {
  size_t count = 0;
  module.walk([&](Operation *op) { ++count; });
  return count - 1; // do not count the module op
}

/// Runs the test program. All modules are passed in the same temporary file.
class Test {
public:
  static llvm::Expected<Test> create(StringRef program) {
    // A name without a folder is looked up in PATH, as a shell does.
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(program);
    if (!found)
      return llvm::createStringError("--test: '" + program + "' is not a program that can be run");
    Test test;
    test.program = *found;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("heddle-reduce", "mlir", test.file))
      return llvm::createStringError("cannot make a temporary file: " + error.message());
    return test;
  }

  FailureOr<bool> operator()(ModuleOp module) {
    ++runs;
    if (llvm::Error error = mlir::heddle::writeWhole(file, [&](raw_ostream &stream) { module.print(stream); })) {
      fail("cannot write '" + file + "': " + llvm::toString(std::move(error)));
      return failure();
    }
    std::string problem;
    std::optional<StringRef> nothing = StringRef();
    int code =
        llvm::sys::ExecuteAndWait(program, {program, file}, std::nullopt, {nothing, nothing, nothing}, 0, 0, &problem);
    if (code == -1) {
      fail("--test: cannot run '" + program + "': " + problem);
      return failure();
    }
    return code == 0;
  }

  int getRuns() const { return runs; }
  StringRef getFile() const { return file; }

private:
  std::string program;
  SmallString<128> file;
  int runs = 0;
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ::heddle::cli::beginProgram();
  Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  mlir::heddle::wrapDescriptions(flags.category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << ::heddle::cli::versionText("heddle-reduce") << "\n"; });
  if (std::string unknown = mlir::heddle::findUnknownFlag(argc, argv); !unknown.empty()) {
    fail(unknown);
    return ::heddle::cli::kWrongCommandLine;
  }
  if (!cl::ParseCommandLineOptions(argc, argv, "makes a module smaller that shows a problem\n", &llvm::errs()))
    return ::heddle::cli::kWrongCommandLine;

  DialectRegistry registry;
  mlir::heddle::registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadDialect<mlir::heddle::HeddleDialect>(); // for tensors of zeros
  mlir::heddle::DiagnosticPrinter diagnostics(&context, "heddle-reduce");
  if (failed(mlir::heddle::checkOutput(&context, "-o", flags.output)))
    return ::heddle::cli::kWorkFailed;
  OwningOpRef<ModuleOp> module = mlir::heddle::readModule(&context, flags.model);
  if (!module)
    return ::heddle::cli::kWorkFailed; // after a message of the parser
  llvm::Expected<Test> test = Test::create(flags.test);
  if (!test)
    return fail(llvm::toString(test.takeError()));
  llvm::FileRemover remover(test->getFile());

  FailureOr<bool> isInteresting = (*test)(*module);
  if (failed(isInteresting))
    return ::heddle::cli::kWorkFailed;
  if (!*isInteresting)
    return fail("'" + flags.test + "' does not end with exit code 0 for '" + flags.model +
                "' itself; it has to where a module shows the problem");
  size_t before = countOps(*module);
  if (failed(mlir::heddle::reduceModule(module, *test)))
    return ::heddle::cli::kWorkFailed;
  llvm::errs() << "heddle-reduce: " << before << " ops are now " << countOps(*module) << ", after " << test->getRuns()
               << " tests\n";
  LogicalResult written = mlir::heddle::writeOutput(&context, "-o", flags.output, [&](raw_ostream &stream) {
    module->print(stream);
    stream << "\n";
  });
  return succeeded(written) ? 0 : ::heddle::cli::kWorkFailed;
}
