#include "tools/heddle-compile/Tune.h"

#include "compiler/Model/Import/Nesting.h"
#include "compiler/Pipeline/Pipeline.h"
#include "compiler/Pipeline/WriteWhole.h"
#include "compiler/Program/Emit/Emit.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/session/Session.h"
#include "tools/heddle-compile/Output.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <memory>

namespace mlir::heddle {
namespace {

/// How many tiles are tried for a matmul, and how often each; the fastest run counts.
constexpr size_t kCandidates = 6;
constexpr int kRuns = 5;

/// The file: {"device": NAME, "tiles": {"TARGET PRODUCT": {"whole": N, "distributed": N, "ms": T}, ...}}.
class TuningFile {
public:
  TuningFile(MLIRContext *context, StringRef path) : context(context), path(path) {}

  LogicalResult read(TileChoices &choices) {
    if (!llvm::sys::fs::exists(path))
      return success();
    if (StringRef kind = describeSpecialFile(path); !kind.empty())
      return fail("is " + kind + "; name a file");
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!buffer)
      return fail("cannot be read: " + buffer.getError().message());
    llvm::Expected<llvm::json::Value> parsed = parseShallowJSON((*buffer)->getBuffer());
    if (!parsed)
      return fail("is not usable JSON: " + llvm::toString(parsed.takeError()));
    llvm::json::Object *root = parsed->getAsObject();
    llvm::json::Object *tiles = root ? root->getObject("tiles") : nullptr;
    std::optional<StringRef> name = root ? root->getString("device") : std::nullopt;
    if (!tiles || !name)
      return fail("is not a tuning file: it lacks \"device\" or \"tiles\"");
    device = name->str();
    for (auto &[key, value] : *tiles) {
      llvm::json::Object *tile = value.getAsObject();
      std::optional<int64_t> whole = tile ? tile->getInteger("whole") : std::nullopt;
      std::optional<int64_t> distributed = tile ? tile->getInteger("distributed") : std::nullopt;
      std::optional<double> time = tile ? tile->getNumber("ms") : std::nullopt;
      if (!whole || !distributed || !time || *whole < 1 || *distributed < 1 || *whole * *distributed > 4096)
        return fail("has no usable tile for \"" + key.str() + "\"");
      choices.measured[key.str()] = {*whole, *distributed};
      times[key.str()] = *time;
    }
    return success();
  }

  LogicalResult write(const TileChoices &choices) {
    llvm::json::Object tiles;
    for (const auto &[key, tile] : choices.measured)
      tiles[key] = llvm::json::Object{{"whole", tile.whole}, {"distributed", tile.distributed}, {"ms", times[key]}};
    llvm::json::Value root = llvm::json::Object{{"device", device}, {"tiles", std::move(tiles)}};
    return writeOutput(context, "--tune", path, [&](raw_ostream &stream) { stream << llvm::formatv("{0:2}\n", root); });
  }

  LogicalResult fail(const Twine &why) {
    return emitError(UnknownLoc::get(context)) << "--tune: '" << path << "' " << why;
  }

  std::string device; // empty until something has been measured
  std::map<std::string, double> times;

private:
  MLIRContext *context;
  std::string path;
};

/// Returns a model in the heddle dialect that consists of one matmul.
std::string writeProduct(const Product &product) {
  auto matrix = [](bool transposed, int64_t rows, int64_t columns) -> std::string {
    return llvm::formatv("tensor<{0}x{1}xf32>", transposed ? columns : rows, transposed ? rows : columns);
  };
  std::string lhs = matrix(product.transposeLhs, product.m, product.k);
  std::string rhs = matrix(product.transposeRhs, product.k, product.n), result = matrix(false, product.m, product.n);
  std::string flags = product.transposeLhs ? "{transpose_lhs}" : product.transposeRhs ? "{transpose_rhs}" : "";
  return llvm::formatv(R"(func.func @product(%a: {0} {{heddle.name = "a"}, %b: {1} {{heddle.name = "b"})
    -> ({2} {{heddle.name = "c"}) {{
  %c = heddle.matmul %a, %b {3} : {0}, {1} -> {2}
  return %c : {2}
})",
                       lhs, rhs, result, flags);
}

class Tuner {
public:
  Tuner(MLIRContext *context, const TargetProfile &profile) : context(context), profile(profile) {}

  /// Returns the fastest candidate and its time in milliseconds.
  FailureOr<std::pair<MatrixTile, double>> measure(const std::string &key, const Product &product) {
    std::pair<MatrixTile, double> best{{}, 0};
    for (MatrixTile tile : candidateTiles(profile, product, kCandidates)) {
      FailureOr<double> time = run(key, product, tile);
      if (failed(time))
        return failure();
      if (best.second == 0 || *time < best.second)
        best = {tile, *time};
    }
    return best;
  }

  std::string device; // known after the first run

private:
  FailureOr<double> run(const std::string &key, const Product &product, MatrixTile tile) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(writeProduct(product), context);
    TileChoices choice;
    choice.measured[key] = tile;
    PipelineOptions options;
    options.profile = &profile;
    options.choices = &choice;
    PassManager passes(context);
    buildPhasePipeline(passes, Phase::FuseAttention, Phase::Plan, options);
    if (!module || mlir::failed(passes.run(*module)))
      return failure();
    PlannedTarget planned{&profile, *module};
    FailureOr<Artifact> artifact = emitArtifact(planned);
    if (mlir::failed(artifact))
      return failure();
    ::heddle::Result<double> time = timeOf(artifact->bytes, product);
    if (!time)
      return emitError(UnknownLoc::get(context)) << "--tune: measuring '" << key << "': " << time.message();
    return *time;
  }

  ::heddle::Result<double> timeOf(const std::string &artifact, const Product &product) {
    auto first = reinterpret_cast<const std::byte *>(artifact.data());
    HEDDLE_ASSIGN(auto loaded, ::heddle::Artifact::fromBytes({first, first + artifact.size()}, "the product"));
    HEDDLE_ASSIGN(auto session, ::heddle::Session::open(std::move(loaded), {.target = profile.name.str()}));
    device = session->device().name + ", " + session->device().driver;
    const ::heddle::EntryInfo &entry = session->entries().front();
    std::vector<::heddle::HostTensor> matrices;
    for (const ::heddle::PortInfo &port : entry.inputs) {
      ::heddle::Shape shape;
      for (const ::heddle::DimInfo &dim : port.dims)
        shape.push_back(dim.extent);
      HEDDLE_ASSIGN(matrices.emplace_back(), ::heddle::HostTensor::uninitialized(port.type, std::move(shape)));
      uint32_t number = 1; // random values, as zeros would be faster than real operands
      for (float &value : matrices.back().values<float>()) {
        number = number * 1664525 + 1013904223;
        value = static_cast<float>(number >> 8) * 0x1p-23f - 1;
      }
    }
    std::vector<::heddle::Input> inputs;
    for (auto [port, matrix] : llvm::zip(entry.inputs, matrices))
      inputs.push_back({port.name, matrix.view()});
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < kRuns; ++i) {
      HEDDLE_ASSIGN(auto launches, session->profile(entry.name, inputs));
      best = std::min(best, launches.back().end - launches.front().begin);
    }
    return static_cast<double>(best) * 1e-6;
  }

  MLIRContext *context;
  const TargetProfile &profile;
};

/// Returns the matmuls of a module after phase `fuse`, by key.
FailureOr<std::map<std::string, Product>> findProducts(ModuleOp model, const TargetProfile &profile) {
  OwningOpRef<ModuleOp> copy = model.clone();
  TileChoices choices;
  PipelineOptions options;
  options.profile = &profile;
  options.choices = &choices;
  PassManager passes(model.getContext());
  buildPhasePipeline(passes, Phase::Tile, Phase::Tile, options);
  if (failed(passes.run(*copy)))
    return failure();
  return choices.asked;
}

} // namespace

LogicalResult tuneTiles(ModuleOp model, ArrayRef<const TargetProfile *> targets, StringRef path, TileChoices &choices) {
  TuningFile file(model.getContext(), path);
  if (failed(file.read(choices)))
    return failure();
  bool measured = false;
  for (const TargetProfile *profile : targets) {
    FailureOr<std::map<std::string, Product>> products = findProducts(model, *profile);
    if (failed(products))
      return failure();
    Tuner tuner(model.getContext(), *profile);
    for (const auto &[key, product] : *products) {
      if (choices.measured.count(key))
        continue;
      auto best = tuner.measure(key, product);
      if (failed(best))
        return failure();
      if (!file.device.empty() && file.device != tuner.device)
        return file.fail("holds the tiles of '" + file.device + "', and this device is '" + tuner.device +
                         "'; name another file");
      file.device = tuner.device;
      choices.measured[key] = best->first;
      file.times[key] = best->second;
      measured = true;
    }
  }
  return measured ? file.write(choices) : success();
}

} // namespace mlir::heddle
