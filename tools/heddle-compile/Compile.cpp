#include "tools/heddle-compile/Compile.h"

#include "compiler/Pipeline/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/core/Span.h"
#include "tools/heddle-compile/PhaseSpans.h"
#include "tools/heddle-compile/ReadModel.h"
#include "tools/heddle-compile/Tune.h"
#include "tools/heddle-compile/Vocabulary.h"

#include <numeric>

using namespace mlir;
using namespace mlir::heddle;

/// The phases up to this one do not depend on the target.
static constexpr Phase kLastSharedPhase = Phase::Fuse;

/// Returns the head widths that all targets support for rounded operands. Phase `prepare` rounds operands, and is shared
/// by all targets.
static HeadWidths headsOf(ArrayRef<const TargetProfile *> targets) {
  HeadWidths heads = targets.front()->attention.heads;
  for (const TargetProfile *profile : targets)
    heads = {std::lcm(heads.step, profile->attention.heads.step),
             std::min(heads.widest, profile->attention.heads.widest)};
  return heads;
}

/// Returns the bytes of the smallest target's device memory; 0: it is not known of each target.
static int64_t memoryOf(ArrayRef<const TargetProfile *> targets) {
  auto smallest = [](const TargetProfile *a, const TargetProfile *b) { return a->limits.memory < b->limits.memory; };
  return (*llvm::min_element(targets, smallest))->limits.memory;
}

/// Sets the columns of panels that all targets want for packed weights. If they do not agree, there are no panels.
static void choosePanels(ArrayRef<const TargetProfile *> targets, WeightFormat &weights) {
  int64_t panel = targets.front()->weightPanel, vector = targets.front()->vector;
  if (llvm::all_of(targets, [&](const TargetProfile *profile) { return profile->weightPanel == panel; }))
    weights.panel = panel;
  if (llvm::all_of(targets, [&](auto *profile) { return profile->dotBits > 0 && profile->vector == vector; }))
    weights.integerPanel = vector;
}

static LogicalResult runPhases(ModuleOp module, Phase first, Phase last, const CommandLine &line,
                               const PipelineOptions &options, TimingScope &timing) {
  if (first > last)
    return success();
  PassManager passes(module->getContext());
  if (failed(applyPassManagerCLOptions(passes)))
    return failure();
  passes.enableTiming(timing);
  // Each phase ends with a verification. A verification after each pass is cheap on graphs, but on kernels it would take a
  // fifth of the compiler's time for Vulkan. heddle-opt verifies after each pass.
  passes.enableVerifier(first <= kLastSharedPhase);
  if (!line.profile.empty())
    passes.addInstrumentation(createPhaseSpans(first, options.profile));
  buildPhasePipeline(passes, first, last, options);
  return passes.run(module);
}

FailureOr<CompiledModel> mlir::heddle::compileModel(MLIRContext *context, const CommandLine &line,
                                                    const TargetPhaseWatch &watch) {
  DefaultTimingManager timingManager;
  applyDefaultTimingManagerCLOptions(timingManager);
  TimingScope timing = timingManager.getRootScope();

  TimingScope importTiming = timing.nest("Import");
  OwningOpRef<ModuleOp> model;
  {
    ::heddle::Span span("read model");
    model = readModel(context, line);
  }
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
  PipelineOptions options = line.pipeline;
  options.heads = headsOf(line.targets);
  options.memory = options.memory ? std::min(options.memory, memoryOf(line.targets)) : memoryOf(line.targets);
  choosePanels(line.targets, options.weights);
  if (watch)
    options.watch = [&](Phase phase, ModuleOp module) { watch(phase, options.profile, module); };
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
    compiled.modules.emplace_back(isLast ? model.release() : model->clone());
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
  if (artifact->entries == 0)
    return emitError(UnknownLoc::get(context))
           << "'" << line.model
           << "' has no entry to compile; an entry is a func.func whose arguments and results have "
           << "names (heddle.name)";
  compiled.artifact = std::move(*artifact);
  return compiled;
}
