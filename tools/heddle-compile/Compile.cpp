#include "tools/heddle-compile/Compile.h"

#include "compiler/HuggingFace/HuggingFace.h"
#include "compiler/Import/Import.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/core/Span.h"
#include "tools/heddle-compile/Output.h"
#include "tools/heddle-compile/PhaseSpans.h"
#include "tools/heddle-compile/Tune.h"
#include "tools/heddle-compile/Vocabulary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// The phases up to this one do not depend on the target.
static constexpr Phase kLastSharedPhase = Phase::Fuse;

/// The first scale of a training whose description gives none. It need not be good: training halves and doubles it
/// soon.
static constexpr double kLossScaleOfF16 = 65536;

static OwningOpRef<ModuleOp> readModel(MLIRContext *context, const CommandLine &line) {
  ::heddle::Span span("read model");
  auto fail = [&](const Twine &message) {
    emitError(UnknownLoc::get(context)) << message;
    return OwningOpRef<ModuleOp>();
  };
  if (!llvm::sys::fs::exists(line.model))
    return fail("there is no file '" + line.model + "'");
  bool isFolder = llvm::sys::fs::is_directory(line.model);
  if (StringRef kind = describeSpecialFile(line.model); !isFolder && !kind.empty())
    return fail("'" + line.model + "' is " + kind + "; name a description (.toml), a text (.weft), a module (.mlir) or a folder");
  DescriptionChanges changes{line.overrides};
  if (line.precision == Precision::F16)
    changes.lossScale = kLossScaleOfF16;
  if (isFolder)
    return importHuggingFace(context, line.model, changes);
  StringRef extension = llvm::sys::path::extension(line.model);
  if (extension == ".toml")
    return importDescription(context, line.model, changes);
  if (extension == ".weft")
    return importText(context, line.model, changes);
  if (extension == ".gguf")
    return importGguf(context, line.model, changes);
  if (extension == ".mlir")
    return parseSourceFile<ModuleOp>(line.model, context);
  return fail("the name '" + line.model +
              "' does not tell what kind of model it is: the name of a description ends in " +
              ".toml, that of a model text in .weft, that of a module of the heddle dialect in .mlir, that of a GGUF file in "
              ".gguf, and a Hugging Face model is a folder");
}

/// The widths that every target has rounded factors of: phase `fuse`, which rounds them, does not depend on the target.
static HeadWidths headsOf(ArrayRef<const TargetProfile *> targets) {
  HeadWidths heads = targets.front()->heads;
  for (const TargetProfile *profile : targets)
    heads = {std::lcm(heads.step, profile->heads.step), std::min(heads.widest, profile->heads.widest)};
  return heads;
}

static LogicalResult runPhases(ModuleOp module, Phase first, Phase last, const CommandLine &line,
                               const PipelineOptions &options, TimingScope &timing) {
  if (first > last)
    return success();
  PassManager passes(module->getContext());
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  passes.enableTiming(timing);
  if (!line.profile.empty())
    passes.addInstrumentation(createPhaseSpans(first, options.profile));
  buildPhasePipeline(passes, first, last, options);
  return passes.run(module);
}

FailureOr<CompiledModel> mlir::heddle::compileModel(MLIRContext *context, const CommandLine &line) {
  DefaultTimingManager timingManager;
  applyDefaultTimingManagerCLOptions(timingManager);
  TimingScope timing = timingManager.getRootScope();

  TimingScope importTiming = timing.nest("Import");
  OwningOpRef<ModuleOp> model = readModel(context, line);
  importTiming.stop();
  if (!model)
    return failure();
  std::vector<VocabularyFile> vocabulary;
  if (!line.vocabulary.empty()) {
    FailureOr<std::vector<VocabularyFile>> files = readVocabulary(*model, line.vocabulary);
    if (failed(files))
      return failure();
    vocabulary = std::move(*files);
  }
  PipelineOptions options;
  options.fusion = line.fusion;
  options.precision = line.precision;
  options.caches = line.caches;
  options.recompute = line.recompute;
  options.adapters = line.adapters;
  options.weights = line.weights;
  options.sharding = line.sharding;
  options.heads = headsOf(line.targets);
  options.dumpDirectory = line.dumpDirectory;
  auto after = [](Phase phase) { return static_cast<Phase>(static_cast<int>(phase) + 1); };
  Phase first = Phase::Import;
  if (line.compileFrom) {
    first = after(*line.compileFrom);
    PassManager check(context);
    check.addPass(createVerifyPhasePass(*line.compileFrom));
    check.addPass(createVerifyEntriesPass());
    if (failed(check.run(*model)))
      return failure();
  }
  if (failed(runPhases(*model, first, std::min(line.compileTo, kLastSharedPhase), line, options, timing)))
    return failure();

  CompiledModel compiled;
  if (line.compileTo <= kLastSharedPhase) {
    compiled.modules.push_back(std::move(model));
    return compiled;
  }
  TileChoices choices;
  if (!line.tuningFile.empty()) {
    TimingScope tuning = timing.nest("Tune");
    ::heddle::Span span("tune");
    if (failed(tuneTiles(*model, line.targets, line.tuningFile, choices)))
      return failure();
    options.choices = &choices;
  }
  Phase firstOfTarget = std::max(first, after(kLastSharedPhase));
  std::vector<PlannedTarget> planned;
  for (const TargetProfile *profile : line.targets) {
    bool isLast = profile == line.targets.back();
    compiled.modules.push_back(isLast ? std::move(model) : OwningOpRef<ModuleOp>(model->clone()));
    options.profile = profile;
    if (line.targets.size() > 1)
      options.dumpTag = StringRef(profile->name).split(':').second.str();
    if (failed(runPhases(*compiled.modules.back(), firstOfTarget, line.compileTo, line, options, timing)))
      return failure();
    planned.push_back({profile, *compiled.modules.back()});
  }
  if (line.compileTo != Phase::Emit)
    return compiled;
  TimingScope emitTiming = timing.nest("Emit");
  ::heddle::Span span("emit");
  FailureOr<Artifact> artifact = emitArtifact(planned, line.ptxas, vocabulary);
  if (failed(artifact))
    return failure();
  compiled.artifact = std::move(*artifact);
  return compiled;
}
