#include "tools/heddle-compile/RunCompiler.h"

#include "compiler/Model/Import/Description.h"
#include "compiler/Pipeline/DumpPhase.h"
#include "tools/cli/Program.h"
#include "tools/cli/SameFile.h"
#include "tools/heddle-compile/Compile.h"
#include "tools/heddle-compile/CompileFlags.h"
#include "tools/heddle-compile/Diagnostics.h"
#include "tools/heddle-compile/FatalErrors.h"
#include "tools/heddle-compile/Fit.h"
#include "tools/heddle-compile/Output.h"
#include "tools/heddle-compile/PhaseSpans.h"
#include "tools/heddle-compile/Report.h"
#include "tools/heddle-compile/page/CompilationPage.h"
#include "tools/trace/ChromeTrace.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using namespace mlir::heddle;

static LogicalResult compile(MLIRContext *context, const CommandLine &asked) {
  auto start = std::chrono::steady_clock::now();
  FailureOr<Fit> fit = asked.fit ? fitMemory(context, asked) : Fit{asked, {}};
  if (failed(fit))
    return failure();
  const CommandLine &line = fit->line;
  std::shared_ptr<RemarkLog> remarks;
  if (line.wantsPage() || !line.remarks.areEmpty())
    remarks = RemarkLog::listen(context);
  PhaseTexts phases;
  TargetPhaseWatch watch;
  if (line.wantsPage())
    watch = [&](Phase phase, const TargetProfile *profile, ModuleOp module) {
      phases.add(phase, profile ? StringRef(profile->name) : "", module);
    };
  FailureOr<CompiledModel> compiled = compileModel(context, line, watch);
  if (remarks)
    remarks->print(line.remarks);
  if (failed(compiled))
    return failure();
  if (line.compileTo != Phase::Emit)
    return writeOutput(context, "-o", line.output, [&](raw_ostream &stream) {
      compiled->modules.front()->print(stream);
      stream << "\n";
    });
  if (failed(writeOutput(context, "-o", line.output, [&](raw_ostream &stream) { stream << compiled->artifact.bytes; })))
    return failure();
  if (!line.report.empty() && failed(writeOutput(context, "--report", line.report, [&](raw_ostream &stream) {
        if (line.wantsPage())
          stream << writeCompilationPage(line, *compiled, phases, remarks->getSorted());
        else
          writeReport(stream, line, *compiled);
      })))
    return failure();
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (line.output != "-")
    printReport(llvm::outs(), line, *compiled, seconds.count());
  if (line.output != "-" && !fit->verdict.empty())
    llvm::outs() << fit->verdict << "\n";
  return flushStandardOutput(context);
}

/// Fails, after an error, if an output cannot be written, or is the same file as an input or as another output.
static LogicalResult checkOutputs(MLIRContext *context, const CommandLine &line) {
  SmallVector<std::pair<StringRef, std::string>> outputs{
      {"-o", line.output}, {"--report", line.report}, {"--profile", line.profile}, {"--tune", line.tuningFile}};
  for (const auto &[flag, path] : outputs)
    if (failed(checkOutput(context, flag, path)))
      return failure();
  if (!line.pipeline.dumpDirectory.empty())
    for (const PhaseInfo &phase : getPhases())
      if (phase.phase != Phase::Emit && phase.phase <= line.compileTo &&
          (!line.compileFrom || phase.phase > *line.compileFrom))
        outputs.push_back({"--dump-phases", getDumpPath(phase, line.pipeline)});
  for (const auto &[i, output] : llvm::enumerate(outputs)) {
    const auto &[flag, path] = output;
    ::heddle::Status status =
        ::heddle::cli::checkOutput(flag, path, {line.model, line.model + "/config.json", line.vocabulary});
    if (!status.ok())
      return emitError(UnknownLoc::get(context)) << status.message();
    for (const auto &[otherFlag, other] : ArrayRef(outputs).take_front(i))
      if (areSameOutput(path, other))
        return emitError(UnknownLoc::get(context)) << flag << ": '" << path << "' is the same file as '" << other
                                                   << "' of " << otherFlag << "; name another file";
  }
  return success();
}

/// Compiles, with a profile if one was requested. The profile is written even if the compilation fails.
static LogicalResult run(MLIRContext *context, const CommandLine &line) {
  if (failed(checkOutputs(context, line)))
    return failure();
  if (line.profile.empty())
    return compile(context, line);
  ::heddle::ChromeTrace trace("heddle-compile");
  trace.listen(true);
  watchKernels(context);
  LogicalResult compiled = compile(context, line);
  trace.listen(false);
  if (::heddle::Status written = trace.write(line.profile); !written.ok())
    return emitError(UnknownLoc::get(context)) << "--profile: " << written.message();
  return compiled;
}

int mlir::heddle::runCompiler(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  handleFatalErrors("heddle-compile", "memory ran out; end other programs, or compile a smaller model");
  ::heddle::cli::beginProgram();
  std::optional<CommandLine> line = parseCommandLine(argc, argv);
  if (!line)
    return ::heddle::cli::kWrongCommandLine;
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  DiagnosticPrinter diagnostics(&context);
  if (line->helpDescription) {
    printDescriptionPage(llvm::outs());
    return succeeded(flushStandardOutput(&context)) ? 0 : 1;
  }
  if (failed(run(&context, *line))) {
    if (!diagnostics.hasFailed())
      llvm::errs() << "heddle-compile: error: compiling '" << line->model << "' failed without saying why\n";
    return diagnostics.getExitCode();
  }
  return 0;
}
