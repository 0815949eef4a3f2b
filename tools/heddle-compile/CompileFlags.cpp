#include "tools/heddle-compile/CompileFlags.h"

#include "tools/heddle-compile/LlvmFlags.h"
#include "tools/heddle-compile/NativeTargets.h"

#include "compiler/Model/Import/Nesting.h"
#include "compiler/Target/CUDA/Assemble.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"
#include "tools/cli/Program.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <cstdlib>
#include <list>

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::heddle;

/// Initial loss scale if the description gives none. Training adjusts it soon, by halving and doubling.
static constexpr double kLossScaleOfF16 = 65536;

/// Parses "12GiB", "1.5 GiB", "800MiB" or "64KiB".
static std::optional<int64_t> parseBytes(StringRef text) {
  double number = 0;
  for (auto [unit, bytes] : {std::pair("GiB", 1024.0 * 1024 * 1024), {"MiB", 1024.0 * 1024}, {"KiB", 1024.0}})
    if (StringRef rest = text;
        rest.consume_back(unit) && !rest.trim().getAsDouble(number) && number > 0 && number < 1e6)
      return static_cast<int64_t>(number * bytes);
  return std::nullopt;
}

namespace {

struct Flags {
  cl::OptionCategory category{"Compiling a model"};
  cl::opt<std::string> model{cl::Positional, cl::desc("MODEL"), cl::cat(category)};
  TextFlag output{category, "o", "OUT.heddle",
                  "The artifact to write; with --compile-to, the .mlir (- is standard output)"};
  cl::list<std::string> targets{
      "target",
      cl::desc("Targets to compile for (default: those that HEDDLE_TARGET names, else native); native: those of this "
               "machine's processor and GPUs"),
      cl::value_desc("name,..."), cl::CommaSeparated, cl::cat(category)};
  TextFlag compileTo{category, "compile-to", "phase", "Stop after a phase and write the module that it leaves", "emit"};
  TextFlag compileFrom{category, "compile-from", "phase", "Go on after a phase with the module (.mlir) that it left"};
  TextFlag dumpPhases{category, "dump-phases", "dir", "Write DIR/NN-phase.mlir after each phase"};
  ListFlag plugins{category, "load-pass-plugin", "plugin.so",
                   "Load a shared library with passes for --pass-after; may be repeated"};
  ListFlag passAfter{
      category, "pass-after", "phase:passes",
      "Run passes at the end of a phase, before what it leaves is verified; they are written as in mlir-opt's "
      "--pass-pipeline on a module: derive:canonicalize,func.func(cse); may be repeated"};
  TextFlag report{category, "report", "out.json|out.html",
                  "Write each entry's launches, FLOPs and bytes, at the sizes' maxima, as JSON; "
                  "or, where the name ends in .html, a page about the compilation: phases, "
                  "kernels, the arena, and what was fused or not and why"};
  TextFlag remarks{
      category, "remarks-filter", "regex",
      "Print the remarks of the passes that this regular expression matches, as in heddle-opt: what they fused, "
      "and what they did not and which condition failed; fuse matches all of them"};
  TextFlag remarksPassed{category, "remarks-filter-passed", "regex", "The same, but only what was fused"};
  TextFlag remarksMissed{category, "remarks-filter-missed", "regex", "The same, but only what was not fused"};
  TextFlag profile{category, "profile", "trace.json",
                   "Write a Chrome trace of phases, passes and kernels, for ui.perfetto.dev"};
  TextFlag precision{category, "precision", "name",
                     "The format that operands of matrix products are rounded to: f32 (default), or tf32, bf16 or f16 "
                     "where the target has them; bf16 and f16 also round the logits of a loss; with f16 the loss is "
                     "scaled (loss_scale). bf16x3: matmuls of almost f32's accuracy on tensor cores, as three of "
                     "bf16; attention stays f32",
                     "f32"};
  TextFlag caches{
      category, "caches", "format",
      "The format of the keys and values that decoding keeps: f32 (default), f16, or bf16 where the target has it",
      "f32"};
  TextFlag moments{category, "moments", "format",
                   "The format of Adam's two moments of each matrix between steps: f32 (default), "
                   "or bf16, rounded stochastically, which "
                   "takes half the memory; arithmetic stays in f32",
                   "f32"};
  TextFlag recompute{
      category, "recompute", "policy",
      "Rematerialisation in the backward pass, to need less memory: none; cheap, such as norms; products, also "
      "values that take a matrix product; auto (default): none if the entry's tensors and all variables then take "
      "at most half of the memory of the GPU that the target is named for, else cheap (always for Vulkan and "
      "processors, whose memory is not known)",
      "auto"};
  TextFlag lora{
      category, "lora", "settings|folder",
      "Train adapters of low rank (LoRA) beside the weights of these linear transformations, and leave all other "
      "weights as they are but those of modules_to_save, which are trained whole; dropout acts on what an adapter "
      "reads, in training. The settings are rank=R,alpha=A,dropout=P,targets=name,...,modules_to_save=name,..., by "
      "default rank=8,alpha=16,dropout=0,targets=query,value. A folder is an adapter of PEFT's, whose settings it has"};
  TextFlag weights{
      category, "weights", "format",
      "What the weights of linear transformations and tables are kept as: file (default), packed if the GGUF file "
      "has them so, in 16 bits if it has them so and they are not trained, else f32; f32; f16; bf16; int8 (whole "
      "numbers with a scale for each output), int4 (with one for each 32 "
      "inputs of an output), or either with a number of inputs, int4:128. Packed and 16-bit weights are not "
      "trained, but adapters beside them are",
      "file"};
  TextFlag shard{category, "shard", "none|optimizer",
                 "Add entries with which several devices train together (heddle-run train): with "
                 "none, every device keeps all of the "
                 "optimizer's state; with optimizer, each keeps a part of it"};
  TextFlag entries{category, "entries", "purpose",
                   "What the artifact is for: all (default), training, or inference, which needs "
                   "no optimizer's state; each has `eval` and `init`",
                   "all"};
  TextFlag fit{category, "fit", "size",
               "Choose the largest batch, of max_tokens tokens or fewer, whose memory is at most "
               "this, 12GiB or 800MiB, and the "
               "recomputation that it takes"};
  TextFlag maxAllocation{
      category, "max-allocation", "size",
      "Most bytes of device memory in one allocation, 2GiB or 64MiB; the arena becomes blocks of at most this "
      "size (default: the target's number, 4094MiB for Vulkan's GPUs, 2GiB for software Vulkan, no limit for "
      "CUDA and processors; heddle-run devices prints a device's)"};
  TextFlag maxTokens{category, "max-tokens", "N", "Most tokens of a batch, on each side; --set max_tokens=N"};
  TextFlag maxSequences{category, "max-sequences", "N", "Most sequences of a batch; --set max_sequences=N"};
  ListFlag overrides{
      category, "set", "key=value",
      "Give a key of the description another value; may be repeated (--help-description lists the keys)"};
  ListFlag ignoredKeys{
      category, "ignore-key", "name",
      "Pass over this key of config.json, or of a GGUF file, that Heddle does not know; may be repeated"};
  TextFlag architecture{
      category, "architecture", "NAME",
      "Read a published model's folder as this architecture, such as BertForSequenceClassification for a BERT "
      "without a head, instead of the one that its config.json names"};
  TextFlag family{category, "family", "text.weft",
                  "Read a published model by this text's section `published`, in place of Heddle's own texts"};
  TextFlag optimizer{
      category, "optimizer", "name|text.weft",
      "Train with this optimizer: one of Heddle's, as --set optimizer=NAME, or the part `update` of a text "
      "of your own (docs/optimizers.md)"};
  TextFlag vocabulary{category, "vocabulary", "file",
                      "Put this SentencePiece model into the artifact, for heddle-run to use"};
  TextFlag tune{category, "tune", "FILE",
                "Take the tiles of matmuls that are fastest by measurement: FILE keeps the figures, and this "
                "machine's device measures matmuls that FILE lacks"};
  TextFlag ptxas{category, "ptxas", "path",
                 "NVIDIA's assembler, which makes binaries for CUDA targets beside PTX (default: the assembler in "
                 "CUDA_HOME or PATH, if it is installed there); none: PTX alone",
                 "auto"};
  cl::opt<int64_t> processors{
      "processors",
      cl::desc(
          "Multiprocessors of the GPU for which matmuls on tensor cores are cut into tiles (default: those of an A100, "
          "an A40 or an H100, by the target)"),
      cl::value_desc("N"), cl::init(0), cl::cat(category)};
  cl::opt<bool> noProducers{"no-producers",
                            cl::desc("Matmuls on Hopper have no warps that only copy operands, for comparison"),
                            cl::cat(category)};
  cl::opt<bool> helpDescription{"help-description", cl::desc("Print a page of all keys of a description, in Markdown"),
                                cl::cat(category)};
  // For tests that run a GPU's kernels on a device with narrower subgroups.
  cl::opt<int64_t> lanes{"lanes", cl::desc("Lanes of a subgroup, instead of the target's own number"), cl::Hidden,
                         cl::init(0), cl::cat(category)};
  FusionFlags fusion{category};
};

std::string describe() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream
      << "\nMODEL is a model description (.toml), a model text (.weft), a module of the heddle dialect (.mlir), a "
         "GGUF file (.gguf)\nor a Hugging Face folder of a published model (docs/published-models.md), whose weights "
         "`heddle-run` reads.\n\nPhases:\n\n";
  for (const PhaseInfo &phase : getPhases())
    stream << llvm::formatv("  {0,-18} {1}\n", phase.name, phase.description);
  stream << "\nTargets:\n\n";
  for (const TargetProfile *profile : getTargetProfiles())
    stream << llvm::formatv("  {0,-24} {1}\n", profile->name, profile->summary);
  stream << R"(
Device memory, as printed: `weights`; `optimizer state`, which is moments, counters and summed gradients; `caches` of
decoding; and the arena, which all entries share, in blocks of at most --max-allocation. Of the arena, `activations` is
the largest sum of tensors that a later launch than the next still reads (in a training step mostly the inputs of the
backward pass), and `workspace` the rest.
These are the tensors alone. Kernels, the scratch memory of a processor's threads, pieces of memory for copies, and what
the driver keeps for itself are not counted, nor is the host's memory: the peak of a process that trains on its
processor is larger.

mlir-opt's flags for printing and timing are understood too (--mlir-print-ir-after-all, --mlir-timing, ...);
--help-hidden lists them. Exit code: 0 done, 1 the work failed, 2 the command line is wrong.
)";
  return text;
}

std::nullopt_t wrong(const Twine &message) {
  llvm::errs() << "heddle-compile: " << message << "\n";
  return std::nullopt;
}

std::optional<Phase> phaseNamed(StringRef flag, StringRef name) {
  std::optional<Phase> phase = parsePhase(name);
  if (phase)
    return phase;
  std::string known;
  for (const PhaseInfo &info : getPhases())
    known += (known.empty() ? "" : ", ") + info.name.str();
  wrong(flag + ": there is no phase '" + name + "'; the phases are " + known);
  return std::nullopt;
}

/// "f32, bf16 and f16"
std::string listOf(ArrayRef<Precision> precisions) {
  std::string text;
  for (auto [i, precision] : llvm::enumerate(precisions))
    text += (i == 0 ? "" : i + 1 == precisions.size() ? " and " : ", ") + toString(precision).str();
  return text;
}

// Each take*() checks the flags of a topic and puts them into `line`. It returns false, after a message, if one is wrong.

bool refuse(const Twine &message) {
  wrong(message);
  return false;
}

bool takePhases(const Flags &flags, CommandLine &line) {
  line.model = flags.model;
  line.output = flags.output;

  std::optional<Phase> phase = phaseNamed("--compile-to", flags.compileTo);
  if (!phase)
    return false;
  line.compileTo = *phase;
  if (!flags.compileFrom.empty()) {
    line.compileFrom = phaseNamed("--compile-from", flags.compileFrom);
    if (!line.compileFrom)
      return false;
    if (*line.compileFrom >= line.compileTo)
      return refuse("--compile-from=" + flags.compileFrom + " is not before --compile-to=" + flags.compileTo);
    if (llvm::sys::path::extension(line.model) != ".mlir")
      return refuse("--compile-from takes a module (.mlir) that --compile-to wrote");
  }
  if (line.compileTo == Phase::Emit && line.output.empty())
    return refuse("the output is missing; add -o OUT.heddle");
  if (line.output.empty())
    line.output = "-";
  return true;
}

/// Loads plug-ins first, as they may define the passes to add.
bool takeAddedPasses(const Flags &flags, CommandLine &line) {
  for (const std::string &path : flags.plugins) {
    llvm::Expected<PassPlugin> plugin = PassPlugin::load(path);
    if (!plugin)
      return refuse("--load-pass-plugin: " + llvm::toString(plugin.takeError()) +
                    "; a plug-in is a shared library built against this Heddle (docs/add-a-pass.md)");
    plugin->registerPassRegistryCallbacks();
  }
  for (StringRef text : flags.passAfter) {
    auto [name, pipeline] = text.split(':');
    if (name.empty() || pipeline.empty())
      return refuse("--pass-after expects a phase and passes, such as fuse-attention:canonicalize, got '" + text + "'");
    std::optional<Phase> phase = phaseNamed("--pass-after", name);
    if (!phase)
      return false;
    AddedPasses added{*phase, pipeline.str()};
    std::string problem;
    if (failed(checkAddedPasses(added, problem)))
      return refuse("--pass-after=" + text + ": " + StringRef(problem).split('\n').first);
    if (added.phase > line.compileTo || (line.compileFrom && added.phase <= *line.compileFrom))
      return refuse("--pass-after=" + text + ": phase '" + name +
                    "' is not one of those that run from --compile-from to --compile-to");
    line.pipeline.added.push_back(std::move(added));
  }
  return true;
}

/// Changes a target's numbers as the flags say.
bool changeProfile(const Flags &flags, TargetProfile &own) {
  if (flags.processors.getNumOccurrences()) {
    constexpr int64_t most = 1024;
    if (own.processors == 0 || flags.processors < 1 || flags.processors > most)
      return refuse("--processors: expects a target with tensor cores and a number from 1 to " + std::to_string(most));
    own.processors = flags.processors;
  }
  if (flags.noProducers)
    own.tensor.producers = 0;
  if (flags.lanes.getNumOccurrences()) {
    if (own.fixedLanes || flags.precision != "f32" || flags.lanes < 4 || !llvm::isPowerOf2_64(flags.lanes))
      return refuse("--lanes: expects a target whose devices may have other subgroups, f32, and a power of two of at "
                    "least 4");
    own.lanes = flags.lanes;
    int64_t fewer = std::max<int64_t>(1, own.blocks.rowLanes / flags.lanes);
    own.blocks.rowLanes /= fewer;
    own.blocks.lanes /= fewer; // keeps the number of rows per block
  }
  if (flags.maxAllocation.getNumOccurrences()) {
    std::optional<int64_t> bytes = parseBytes(flags.maxAllocation);
    if (!bytes || *bytes < 1024)
      return refuse("--max-allocation expects a size such as 2GiB or 64MiB, got '" + flags.maxAllocation + "'");
    own.limits.allocation = *bytes;
  }
  return true;
}

bool takeTargets(const Flags &flags, CommandLine &line) {
  std::vector<std::string> targets(flags.targets.begin(), flags.targets.end());
  bool isDefault = targets.empty();
  if (isDefault) {
    const char *named = std::getenv("HEDDLE_TARGET");
    for (StringRef name : llvm::split(StringRef(named && *named ? named : "native"), ','))
      targets.push_back(name.str());
  }
  if (auto native = llvm::find(targets, "native"); native != targets.end()) {
    ::heddle::Result<std::vector<std::string>> found = findNativeTargets();
    if (!found)
      return refuse(found.error().message);
    targets.insert(targets.erase(native), found->begin(), found->end());
  }
  // A module is for one target. If no target was requested, use only the machine's best.
  if (isDefault && (line.compileTo != Phase::Emit || line.compileFrom))
    targets.resize(1);
  for (const std::string &name : targets) {
    std::string message;
    const TargetProfile *profile = lookupTargetProfile(name, message);
    if (!profile)
      return refuse((isDefault ? "HEDDLE_TARGET: " : "") + message);
    static std::list<TargetProfile> changed; // a list, as passes keep pointers to profiles
    TargetProfile &own = changed.emplace_back(*profile);
    if (!changeProfile(flags, own))
      return false;
    if (llvm::none_of(line.targets, [&](const TargetProfile *other) { return other->name == own.name; }))
      line.targets.push_back(&own);
  }
  if (line.targets.size() > 1 && (line.compileTo != Phase::Emit || line.compileFrom))
    return refuse(
        "--compile-from reads and --compile-to writes the module of a single target; name only that --target");
  return true;
}

bool takeFormats(const Flags &flags, CommandLine &line) {
  std::optional<Precision> precision = parsePrecision(flags.precision);
  if (!precision)
    return refuse("--precision: there is no precision '" + flags.precision +
                  "'; this build has f32, bf16x3, tf32, bf16 and f16");
  line.pipeline.precision = *precision;
  if (precision == Precision::F16)
    line.changes.lossScale = kLossScaleOfF16;
  for (const TargetProfile *profile : line.targets)
    if (!llvm::is_contained(profile->precisions, line.pipeline.precision))
      return refuse("--precision=" + flags.precision + ": target " + profile->name + " has " +
                    listOf(profile->precisions));

  std::optional<Precision> caches = parsePrecision(flags.caches);
  if (!caches || !isStorable(*caches))
    return refuse("--caches: keys and values are kept in f32, f16 or bf16, not in '" + flags.caches + "'");
  line.pipeline.caches = *caches;
  for (const TargetProfile *profile : line.targets)
    if (!llvm::is_contained(profile->precisions, line.pipeline.caches))
      return refuse("--caches=" + flags.caches + ": target " + profile->name + " has no " + flags.caches);

  std::optional<Precision> moments = parsePrecision(flags.moments);
  if (moments != Precision::F32 && moments != Precision::BF16)
    return refuse("--moments: Adam's moments are kept in f32 or bf16, not in '" + flags.moments + "'");
  line.pipeline.moments = *moments;

  llvm::Expected<WeightFormat> weights = parseWeightFormat(flags.weights);
  if (!weights)
    return refuse("--weights: " + llvm::toString(weights.takeError()));
  line.pipeline.weights = *weights;
  return true;
}

bool takeRewrites(const Flags &flags, CommandLine &line) {
  std::optional<Recomputation> recompute = parseRecomputation(flags.recompute);
  if (!recompute)
    return refuse("--recompute: there is no policy '" + flags.recompute +
                  "'; the policies are none, cheap, products and auto");
  line.pipeline.recompute = *recompute;

  flags.fusion.apply(line.pipeline.fusion);
  // Fusing projections stores their weights as one. The fused kernels do not use tensor cores yet.
  if (line.pipeline.precision != Precision::F32)
    line.pipeline.fusion.switchOff("fuse-projections");
  return true;
}

bool takeAdapters(const Flags &flags, CommandLine &line) {
  if (!flags.lora.getNumOccurrences())
    return true;
  std::string config = flags.lora + "/adapter_config.json"; // a folder written by PEFT
  auto file = llvm::MemoryBuffer::getFile(config, /*IsText=*/true);
  if (llvm::sys::fs::is_directory(flags.lora) && !file)
    return refuse("--lora: cannot read '" + config + "': " + file.getError().message());
  if (file && nestsTooDeepJSON((*file)->getBuffer()))
    return refuse("--lora: '" + config + "' nests values deeper than any configuration of an adapter does");
  llvm::Expected<AdapterOptions> adapters = file ? parseAdapterConfig((*file)->getBuffer()) : parseAdapters(flags.lora);
  if (!adapters)
    return refuse("--lora: " + llvm::toString(adapters.takeError()));
  line.pipeline.adapters = std::move(*adapters);
  return true;
}

bool takePurpose(const Flags &flags, CommandLine &line) {
  if (flags.shard.getNumOccurrences()) {
    if (flags.shard != "none" && flags.shard != "optimizer")
      return refuse("--shard: '" + flags.shard +
                    "' is unknown; there are 'none' (every device keeps the whole optimizer's state) and 'optimizer' "
                    "(each keeps a part).");
    line.pipeline.sharding = flags.shard == "none" ? Sharding::None : Sharding::Optimizer;
  }
  if (flags.entries != "all" && flags.entries != "training" && flags.entries != "inference")
    return refuse("--entries: '" + flags.entries + "' is unknown; there are 'all', 'training' and 'inference'.");
  if (flags.entries.getNumOccurrences() && line.compileFrom && *line.compileFrom >= Phase::Derive)
    return refuse("--entries chooses what phase 'derive' makes, which --compile-from=" + flags.compileFrom +
                  " leaves out");
  line.pipeline.purpose = flags.entries == "training"    ? Purpose::Training
                          : flags.entries == "inference" ? Purpose::Inference
                                                         : Purpose::All;
  if (line.pipeline.purpose == Purpose::Inference && line.pipeline.sharding)
    return refuse("--shard is for training, and --entries=inference leaves it out");
  if (flags.fit.getNumOccurrences()) {
    line.fit = parseBytes(flags.fit);
    if (!line.fit)
      return refuse("--fit expects a size such as 12GiB or 800MiB, got '" + flags.fit + "'");
    if (line.compileFrom || line.compileTo != Phase::Emit)
      return refuse("--fit chooses a batch for an artifact; leave --compile-from and --compile-to out");
  }
  return true;
}

bool takeOutputs(const Flags &flags, CommandLine &line) {
  line.pipeline.dumpDirectory = flags.dumpPhases;
  line.report = flags.report;
  line.profile = flags.profile;
  line.tuningFile = flags.tune;
  line.vocabulary = flags.vocabulary;
  if (!line.vocabulary.empty() && line.compileTo != Phase::Emit)
    return refuse("--vocabulary is a part of the artifact, and --compile-to=" + flags.compileTo + " makes no artifact");
  if (!line.report.empty() && line.compileTo != Phase::Emit)
    return refuse("--report is about an artifact, and --compile-to=" + flags.compileTo + " makes no artifact");
  for (auto [flag, into] : {std::pair(&flags.remarks, &line.remarks.all),
                            {&flags.remarksPassed, &line.remarks.passed},
                            {&flags.remarksMissed, &line.remarks.missed}}) {
    *into = *flag;
    std::string problem;
    if (!into->empty() && !llvm::Regex(*into).isValid(problem))
      return refuse("--" + flag->ArgStr + "=" + *into + " is no regular expression: " + problem);
  }
  return true;
}

bool takePtxas(const Flags &flags, CommandLine &line) {
  line.ptxas = flags.ptxas == "auto" ? findPtxas() : flags.ptxas == "none" ? "" : flags.ptxas.getValue();
  if (!line.ptxas.empty() && !llvm::sys::fs::can_execute(line.ptxas))
    return refuse("--ptxas: '" + line.ptxas +
                  "' is not a program; name ptxas of the CUDA toolkit, or give none for PTX alone");
  return true;
}

bool takeChanges(const Flags &flags, CommandLine &line) {
  line.changes.overrides.assign(flags.overrides.begin(), flags.overrides.end());
  line.changes.ignoredKeys.assign(flags.ignoredKeys.begin(), flags.ignoredKeys.end());
  line.changes.architecture = flags.architecture;
  line.changes.family = flags.family;
  line.changes.optimizer = flags.optimizer;
  if (!flags.maxTokens.empty())
    line.changes.overrides.push_back("max_tokens=" + flags.maxTokens);
  if (!flags.maxSequences.empty())
    line.changes.overrides.push_back("max_sequences=" + flags.maxSequences);
  StringRef extension = llvm::sys::path::extension(line.model);
  bool isGguf = extension == ".gguf",
       isPublished = extension != ".toml" && extension != ".weft" && extension != ".mlir";
  auto mayTake = [&](const cl::Option &flag, bool isOfModel, StringRef published) {
    return !flag.getNumOccurrences() || isOfModel ||
           refuse("--" + flag.ArgStr + " is about a published model's " + published + ", and '" + line.model +
                  "' is none; leave it out");
  };
  if (!mayTake(flags.architecture, isPublished && !isGguf, "folder") ||
      !mayTake(flags.family, isPublished, "folder or GGUF file") ||
      !mayTake(flags.ignoredKeys, isPublished, "folder or GGUF file"))
    return false;
  if (flags.optimizer.getNumOccurrences() && extension == ".mlir")
    return refuse("--optimizer chooses what phase 'derive' adds to a model, and '" + line.model +
                  "' is a module; leave it out");
  if (!line.changes.overrides.empty() && extension == ".mlir")
    return refuse("--set, --max-tokens and --max-sequences change a description (.toml) or a text (.weft); '" +
                  line.model + "' is a module, whose sizes are in its heddle.size ops");
  return true;
}

std::optional<CommandLine> check(const Flags &flags) {
  CommandLine line;
  line.helpDescription = flags.helpDescription;
  if (line.helpDescription)
    return line;
  if (flags.model.empty())
    return wrong("MODEL is missing; name a description (.toml), a model text (.weft), a module (.mlir), a GGUF file "
                 "(.gguf) or a Hugging Face folder");
  for (const cl::opt<std::string> *flag :
       {&flags.output, &flags.compileFrom, &flags.dumpPhases, &flags.report, &flags.profile, &flags.maxTokens,
        &flags.maxSequences, &flags.vocabulary, &flags.tune, &flags.optimizer})
    if (flag->getNumOccurrences() && flag->empty())
      return wrong((flag->ArgStr.size() == 1 ? "-" : "--") + flag->ArgStr + " has no value; it takes " +
                   flag->ValueStr);
  bool isRight = takePhases(flags, line) && takeAddedPasses(flags, line) && takeTargets(flags, line) &&
                 takeFormats(flags, line) && takeRewrites(flags, line) && takeAdapters(flags, line) &&
                 takePurpose(flags, line) && takeOutputs(flags, line) && takePtxas(flags, line) &&
                 takeChanges(flags, line);
  return isRight ? std::optional(std::move(line)) : std::nullopt;
}

} // namespace

std::optional<CommandLine> mlir::heddle::parseCommandLine(int argc, char **argv) {
  Flags flags;
  // --mlir-print-ir-after=PASS accepts only registered passes.
  registerAllPasses();
  registerTransformsPasses();
  registerMLIRContextCLOptions();
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::HideUnrelatedOptions(flags.category);
  wrapDescriptions(flags.category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << ::heddle::cli::versionText("heddle-compile") << "\n"; });
  if (std::string unknown = findUnknownFlag(argc, argv); !unknown.empty())
    return wrong(unknown);
  std::string help = describe();
  cl::extrahelp more(help);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (!cl::ParseCommandLineOptions(argc, argv, "compiles a model to an artifact that heddle-run runs\n", &stream)) {
    if (problem.empty()) // LLVM has printed what is wrong with a value
      return std::nullopt;
    // LLVM prints "PROGRAM: The mistake.  Try: 'PROGRAM --help'", and often "PROGRAM: Did you mean '--nearest'?", even
    // if the nearest flag is not near at all.
    auto [mistake, guess] = StringRef(problem).split('\n');
    StringRef text = mistake.split("  Try:").first, given = text.split("'").second.split("'").first.split('=').first;
    StringRef nearest = guess.split("'").second.split("'").first.split('=').first;
    bool isNear = guess.contains("Did you mean") && given.edit_distance(nearest) <= 3;
    text.consume_front("heddle-compile: ");
    return wrong(text.rtrim(".! ") + (isNear ? "; did you mean " + nearest + "?" : "; --help lists the flags"));
  }
  std::optional<CommandLine> line = check(flags);
  if (line)
    line->given.assign(argv + 1, argv + argc);
  return line;
}
