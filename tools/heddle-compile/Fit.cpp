#include "tools/heddle-compile/Fit.h"

#include "tools/heddle-compile/Compile.h"
#include "tools/heddle-compile/Report.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kUnit = 64; // granularity of the batches tried between a fit and its double
static constexpr int kSteps = 3;     // how many of these batches are tried

static constexpr StringLiteral kTokens = "max_tokens", kLength = "max_length";

/// Returns an integer of the model's description.
static std::optional<int64_t> findNumber(ModuleOp module, StringRef key) {
  auto text = module->getAttrOfType<StringAttr>("heddle.description");
  llvm::Expected<llvm::json::Value> json = text ? llvm::json::parse(text.getValue()) : llvm::json::Value(nullptr);
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *description = json->getAsObject();
  return description ? description->getInteger(key) : std::nullopt;
}

namespace {

/// A batch's size, the recomputation, and the model's memory with both.
struct Candidate {
  int64_t tokens;
  Recomputation recompute;
  DeviceMemory memory;

  std::string describe() const {
    return llvm::formatv("{0}={1} and --recompute={2}", kTokens, tokens, toString(recompute));
  }
};

class Search {
public:
  Search(MLIRContext *context, const CommandLine &line) : context(context), line(line) {}

  FailureOr<Fit> run() {
    CommandLine asked = line;
    asked.compileTo = Phase::Import;
    FailureOr<CompiledModel> model = compileModel(context, asked);
    if (failed(model))
      return failure();
    std::optional<int64_t> tokens = findNumber(*model->modules.front(), kTokens);
    std::optional<int64_t> length = findNumber(*model->modules.front(), kLength);
    if (!tokens || !length)
      return emitError(UnknownLoc::get(context))
             << "--fit: the model has no " << kTokens << " and " << kLength << ", of which a batch is chosen";
    SmallVector<Recomputation> policies{line.pipeline.recompute};
    if (line.pipeline.recompute == Recomputation::Auto) // --fit names the memory
      policies = {Recomputation::None, Recomputation::Cheap};
    if (line.pipeline.recompute != Recomputation::Products)
      policies.push_back(Recomputation::Products);
    for (int64_t count = *tokens, last = 0;; last = count, count = std::max(count / 2, *length)) {
      for (Recomputation policy : policies) {
        FailureOr<Candidate> candidate = plan(count, policy);
        if (failed(candidate))
          return failure();
        if (fits(*candidate))
          return grow(*candidate, last, *tokens);
        if (!least || candidate->memory.total() < least->memory.total())
          least = *candidate;
      }
      if (count <= *length)
        break;
    }
    return emitError(UnknownLoc::get(context))
           << "--fit=" << formatBytes(*line.fit) << ": the model needs at least " << least->memory.describe()
           << ", with " << least->describe() << ". Make " << kLength
           << " or the model smaller, train adapters alone (--lora), or keep "
           << "weights in 8 or 4 bits (--weights)";
  }

private:
  CommandLine withChoice(int64_t tokens, Recomputation policy) const {
    CommandLine changed = line;
    changed.changes.overrides.push_back((kTokens + "=" + Twine(tokens)).str());
    changed.pipeline.recompute = policy;
    changed.pipeline.memory = *line.fit;
    return changed;
  }

  FailureOr<Candidate> plan(int64_t tokens, Recomputation policy) {
    CommandLine changed = withChoice(tokens, policy);
    changed.compileTo = Phase::Plan;
    changed.pipeline.dumpDirectory.clear();
    FailureOr<CompiledModel> compiled = compileModel(context, changed);
    if (failed(compiled))
      return failure();
    Candidate candidate{tokens, policy, {}};
    for (OwningOpRef<ModuleOp> &module : compiled->modules)
      if (DeviceMemory memory = DeviceMemory::of(*module); memory.total() >= candidate.memory.total())
        candidate.memory = memory;
    return candidate;
  }

  bool fits(const Candidate &candidate) const { return candidate.memory.total() <= *line.fit; }

  /// Tries a few more batches between `candidate`, which fits, and `tooMany` tokens, which do not fit; 0: there is no
  /// such number.
  FailureOr<Fit> grow(Candidate candidate, int64_t tooMany, int64_t asked) {
    for (int step = 0; step < kSteps && tooMany - candidate.tokens >= 2 * kUnit; ++step) {
      FailureOr<Candidate> between = plan((candidate.tokens + tooMany) / 2 / kUnit * kUnit, candidate.recompute);
      if (failed(between))
        return failure();
      if (fits(*between))
        candidate = *between;
      else
        tooMany = between->tokens;
    }
    return choose(candidate, asked);
  }

  Fit choose(const Candidate &candidate, int64_t asked) const {
    std::string verdict = llvm::formatv("fits {0} with {1}: {2}", formatBytes(*line.fit), candidate.describe(),
                                        formatBytes(candidate.memory.total()));
    if (candidate.tokens < asked)
      verdict += llvm::formatv("; {0} tokens, which were asked for, do not", asked);
    Fit fit{withChoice(candidate.tokens, candidate.recompute), std::move(verdict)};
    fit.line.fit.reset();
    return fit;
  }

  MLIRContext *context;
  const CommandLine &line;
  std::optional<Candidate> least;
};

} // namespace

FailureOr<Fit> mlir::heddle::fitMemory(MLIRContext *context, const CommandLine &line) {
  return Search(context, line).run();
}
