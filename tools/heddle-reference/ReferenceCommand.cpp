#include "tools/heddle-reference/ReferenceCommand.h"

#include "tools/cli/Program.h"
#include "tools/heddle-compile/LlvmFlags.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace mlir::heddle;
using ::heddle::run::NamedFile;

namespace {

struct Flags {
  cl::OptionCategory category{"Running an entry in the reference interpreter"};
  cl::opt<std::string> model{cl::Positional, cl::desc("MODEL"), cl::cat(category)};
  TextFlag entry{category, "entry", "name", "The entry's name"};
  ListFlag inputs{category, "input", "NAME=@FILE.npy", "An input"};
  ListFlag outputs{category, "output", "NAME=@FILE.npy", "Where to write an output"};
  ListFlag expectations{category, "expect", "NAME=@FILE.npy", "The expected values of an output"};
  cl::opt<double> tolerance{
      "tolerance",
      cl::desc("Allowed |error| / (1 + |expected value|) (default 1e-5); with --diff the norm of a "
               "tensor's error over its norm (default 1e-4)"),
      cl::init(1e-5), cl::cat(category)};
  TextFlag variables{category, "variables", "file", "Variables to load first, a .safetensors file"};
  TextFlag savedVariables{category, "save-variables", "file", "Where to save all variables afterwards"};
  cl::opt<uint64_t> seed{"seed", cl::desc("Run `init` with this seed first"), cl::cat(category)};
  cl::opt<int64_t> repeat{"repeat", cl::desc("Calls to make; the outputs of the last call count"), cl::init(1),
                          cl::cat(category)};
  TextFlag phase{category, "phase", "name",
                 "Interpret the module that this phase leaves: derive, fuse-attention, "
                 "differentiate (default), prepare or fuse",
                 "differentiate"};
  ListFlag overrides{category, "set", "key=value", "Give a key of the description another value"};
  ListFlag ignoredKeys{category, "ignore-key", "name",
                       "Pass over this key of config.json, or of a GGUF file, that Heddle does not know"};
  cl::opt<bool> diff{
      "diff",
      cl::desc("Compile the model, call the entry on a device too, and compare; inputs without a file, and "
               "variables, are then random"),
      cl::cat(category)};
  cl::opt<double> floor{
      "floor",
      cl::desc("With --diff: smaller numbers count as large as this, so that what is zero but for rounding "
               "agrees (default 0)"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("With --diff: the target to compile for"),
                              cl::init(kDefaultTarget.str()), cl::cat(category)};
  TextFlag device{category, "device", "id",
                  "With --diff: the device to call the entry on (heddle-run devices lists them)"};
  FusionFlags fusion{category};
};

constexpr StringLiteral kMore = R"(
MODEL is a model description (.toml), a model text (.weft), a module of the heddle dialect (.mlir), a GGUF file (.gguf) or a
Hugging Face folder, as heddle-compile takes it. The entry is computed op by op in 64 bits, by plain loops that share nothing
with the compiler's kernels: what comes out is what the model means.

Exit code: 0 done, 1 the work failed, 2 the command line is wrong.
)";

std::nullopt_t wrong(const Twine &message) {
  llvm::errs() << "heddle-reference: " << message << "\n";
  return std::nullopt;
}

bool parseFiles(StringRef flag, ArrayRef<std::string> texts, std::vector<NamedFile> &files) {
  for (const std::string &text : texts) {
    auto file = NamedFile::parse(flag.str(), text);
    if (!file.ok()) {
      wrong(file.message());
      return false;
    }
    files.push_back(*file);
  }
  return true;
}

std::optional<ReferenceCommand> check(Flags &flags) {
  ReferenceCommand command;
  if (flags.model.empty())
    return wrong("MODEL is missing; --help says what it may be");
  if (flags.entry.empty())
    return wrong("the entry is missing; add --entry=NAME");
  command.model = flags.model;
  command.entry = flags.entry;
  command.changes.overrides.assign(flags.overrides.begin(), flags.overrides.end());
  command.changes.ignoredKeys.assign(flags.ignoredKeys.begin(), flags.ignoredKeys.end());
  if (!command.changes.overrides.empty() && llvm::sys::path::extension(command.model) == ".mlir")
    return wrong("--set changes a description (.toml) or a text (.weft); '" + command.model + "' is a module");
  std::optional<Phase> phase = parsePhase(flags.phase);
  if (!phase || *phase < Phase::Derive || *phase > Phase::Fuse)
    return wrong("--phase: the phases are derive, fuse-attention, differentiate, prepare and fuse, not '" +
                 flags.phase + "'");
  command.phase = *phase;
  flags.fusion.apply(command.pipeline.fusion);
  if (!parseFiles("--input", flags.inputs, command.inputs) || !parseFiles("--output", flags.outputs, command.outputs) ||
      !parseFiles("--expect", flags.expectations, command.expectations))
    return std::nullopt;
  llvm::StringSet<> names;
  for (const NamedFile &input : command.inputs)
    if (!names.insert(input.name).second)
      return wrong("--input: '" + input.name + "' is given twice; name one file for it");
  if (!flags.diff &&
      (flags.target.getNumOccurrences() || flags.device.getNumOccurrences() || flags.floor.getNumOccurrences()))
    return wrong("--target, --device and --floor go with --diff");
  std::string problem;
  command.pipeline.profile = lookupTargetProfile(flags.target, problem);
  if (!command.pipeline.profile)
    return wrong("--target: " + problem);
  command.pipeline.heads = command.pipeline.profile->attention.heads;
  if (!(flags.tolerance >= 0) || !(flags.floor >= 0))
    return wrong("--tolerance and --floor expect numbers of at least 0");
  if (flags.repeat < 1)
    return wrong("--repeat: expects a number of at least 1");
  command.diff = flags.diff;
  command.device = flags.device;
  command.floor = flags.floor;
  if (command.diff && (!command.outputs.empty() || !command.expectations.empty() || !flags.savedVariables.empty()))
    return wrong("--diff compares with the compiled model; leave --output, --expect and --save-variables out");
  if (command.diff && command.phase != Phase::Differentiate)
    return wrong("--diff interprets the module that the phase differentiate leaves; leave --phase out");
  command.tolerance = command.diff && !flags.tolerance.getNumOccurrences() ? 1e-4 : flags.tolerance;
  command.variables = flags.variables;
  command.savedVariables = flags.savedVariables;
  if (flags.seed.getNumOccurrences())
    command.seed = flags.seed;
  command.repeat = static_cast<uint64_t>(flags.repeat);
  return command;
}

} // namespace

std::optional<ReferenceCommand> mlir::heddle::parseReferenceCommand(int argc, char **argv) {
  Flags flags;
  cl::HideUnrelatedOptions(flags.category);
  wrapDescriptions(flags.category);
  cl::SetVersionPrinter([](raw_ostream &out) { out << ::heddle::cli::versionText("heddle-reference") << "\n"; });
  if (std::string unknown = findUnknownFlag(argc, argv); !unknown.empty())
    return wrong(unknown);
  cl::extrahelp more(kMore);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (!cl::ParseCommandLineOptions(argc, argv, "runs an entry of a model in the reference interpreter\n", &stream)) {
    StringRef text = StringRef(problem).split('\n').first.split("  Try:").first;
    text.consume_front("heddle-reference: ");
    if (text.empty()) // LLVM has printed what is wrong with a flag's value
      return std::nullopt;
    return wrong(text.rtrim(". ") + "; --help lists the flags");
  }
  return check(flags);
}
