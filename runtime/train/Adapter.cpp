#include "runtime/train/Adapter.h"

#include "runtime/core/Gguf.h"
#include "runtime/core/Log.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/AdapterFile.h"

#include <algorithm>
#include <set>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeight = ".weight";

std::map<std::string, LoraShape> findAdapters(std::span<const VariableInfo> variables) {
  std::map<std::string, Shape, std::less<>> shapes;
  for (const VariableInfo &variable : variables)
    if (variable.kind == VariableKind::Weight)
      shapes.emplace(variable.name, variable.shape);
  return findLoraShapes(shapes);
}

Status write(Engine &engine, const std::string &path, const LowRank &adapter) {
  HEDDLE_CHECK(engine.writeVariable(path + std::string(kLoraDown), adapter.down));
  return engine.writeVariable(path + std::string(kLoraUp), adapter.up);
}

Result<HostTensor> zeros(Shape shape) {
  HEDDLE_ASSIGN(HostTensor result, HostTensor::uninitialized(ElementType::F32, std::move(shape)));
  std::ranges::fill(result.values<float>(), 0.0f);
  return result;
}

Result<LowRank> zeros(const LoraShape &shape) {
  LowRank result{.shape = shape};
  HEDDLE_ASSIGN(result.down, zeros(shape.down()));
  HEDDLE_ASSIGN(result.up, zeros(shape.up()));
  return result;
}

Result<std::unique_ptr<AdapterFile>> openAdapter(const fs::path &path, const Description &model) {
  return isGgufFile(path) ? openGgufAdapter(path, model) : openPeftAdapter(path, model);
}

class Reading {
public:
  Reading(const AdapterFile &file, const Description &model, std::span<const VariableInfo> weights)
      : file(file), model(model), weights(weights), adapters(findAdapters(weights)) {}

  Result<Adapter> read() {
    for (const auto &[linear, shape] : adapters)
      HEDDLE_CHECK(readPair(linear, shape));
    HEDDLE_CHECK(checkShared());
    for (const std::string &name : file.names())
      if (!used.contains(name))
        HEDDLE_CHECK(readWhole(name));
    HEDDLE_CHECK(shareHead());
    HEDDLE_CHECK(checkSaved());
    return std::move(adapter);
  }

private:
  Status readPair(const std::string &linear, const LoraShape &shape) {
    std::vector<AdapterFile::Module> modules = file.modulesOf(linear, shape.matrices);
    auto isAbsent = [&](const AdapterFile::Module &module) { return !file.has(module.down) && !file.has(module.up); };
    if (std::ranges::all_of(modules, isAbsent))
      return Success();
    int64_t matrices = 0;
    for (const AdapterFile::Module &module : modules)
      matrices += module.matrices;
    if (matrices != shape.matrices)
      return makeError(ErrorKind::Malformed, "the artifact has ", shape.matrices, " adapters for '", linear,
                       "', whose tensors in a folder are ", matrices, "; compile the model again.");
    HEDDLE_ASSIGN(LowRank pair, zeros(shape));
    if (!modules.front().magnitude.empty()) {
      HEDDLE_ASSIGN(pair.magnitude, zeros(Shape{shape.matrices, shape.outputs}));
    }
    int64_t first = 0; // the module's first matrix
    for (const AdapterFile::Module &module : modules) {
      if (!isAbsent(module) || !module.magnitude.empty()) // an expert may have no adapter, but no magnitude of zero
        HEDDLE_CHECK(readModule(linear, module, first, pair));
      first += module.matrices;
    }
    adapter.pairs.emplace(linear, std::move(pair));
    return Success();
  }

  Status readModule(const std::string &linear, const AdapterFile::Module &module, int64_t first, LowRank &pair) {
    for (const std::string &name : {module.down, module.up, module.magnitude})
      if (!name.empty() && !file.has(name))
        return makeError(ErrorKind::Malformed, "'", file.path().string(), "' has a part of an adapter and lacks '",
                         name, "'; save the adapter again.");
    const LoraShape &shape = pair.shape;
    HEDDLE_ASSIGN(AdapterFile::Pair read, file.readPair(linear, module));
    int64_t rank = read.rank;
    if (rank > shape.rank)
      return makeError(ErrorKind::InvalidArgument, "'", file.path().string(), "' has an adapter of rank ", rank,
                       ", and the artifact holds adapters of rank ", shape.rank,
                       " at most; compile it with --lora rank=", rank, ".");
    HEDDLE_CHECK(checkShape(module.down, read.down, {module.matrices * rank, shape.inputs}));
    HEDDLE_CHECK(checkShape(module.up, read.up, {module.matrices * shape.outputs, rank}));
    auto scale = float(file.scaleOf(module, rank) / model.adapter.scale());
    for (int64_t i = 0; i < module.matrices; ++i) {
      transposeInto(matrixOf(std::as_const(read.down), i, rank), shape.inputs,
                    matrixOf(pair.down, first + i, shape.inputs), shape.rank);
      transposeInto(matrixOf(std::as_const(read.up), i, shape.outputs), rank, matrixOf(pair.up, first + i, shape.rank),
                    shape.outputs, scale);
    }
    if (!module.magnitude.empty()) {
      HEDDLE_ASSIGN(HostTensor magnitude, file.readMagnitude(linear, module));
      HEDDLE_CHECK(checkShape(module.magnitude, magnitude, {shape.outputs}));
      std::ranges::copy(magnitude.values<float>(), matrixOf(*pair.magnitude, first, 1).begin());
    }
    used.insert({module.down, module.up, module.magnitude});
    return Success();
  }

  // An adapter of a tensor with several linear transformations is read if the artifact has adapters for all of them.
  Status checkShared() const {
    for (const auto &[weight, origin] : model.tensors) {
      std::string linear = linearOf(weight);
      if (adapters.contains(linear))
        continue;
      for (const AdapterFile::Module &module : file.modulesOf(linear, matricesOf(origin)))
        if (used.contains(module.up))
          return unknown(module.up);
    }
    return Success();
  }

  Status checkShape(const std::string &name, const HostTensor &tensor, const Shape &expected) const {
    if (tensor.type() == ElementType::F32 && std::ranges::equal(tensor.shape(), expected))
      return Success();
    return makeError(ErrorKind::InvalidArgument, "'", file.path().string(), "' has '", name, "' as ",
                     describe(tensor.type(), tensor.shape()), ", and the model takes ",
                     describe(ElementType::F32, expected), ". The adapter belongs to another model.");
  }

  // Reads a tensor that replaces a tensor of the base, which may hold several weights.
  Status readWhole(const std::string &name) {
    std::optional<std::string> published = file.publishedName(name);
    bool isKnown = false;
    if (published && *published == kSharedHead + std::string(kWeight) && !findSharedEmbedding(model).empty()) {
      HEDDLE_ASSIGN(head, file.readWhole(name));
      isKnown = true;
    }
    for (const VariableInfo &weight : weights) {
      auto origin = model.tensors.find(weight.name);
      if (isKnown || !published || (!model.tensors.empty() && origin == model.tensors.end()))
        continue;
      bool isOwn = model.tensors.empty() && weight.isWeight() && weight.name == *published;
      if (!isOwn && (model.tensors.empty() || !hasName(origin->second, *published)))
        continue;
      HEDDLE_ASSIGN(HostTensor tensor, file.readWhole(name));
      if (isOwn) {
        HEDDLE_CHECK(checkShape(name, tensor, weight.shape));
        adapter.whole.emplace(weight.name, std::move(tensor));
      } else {
        HEDDLE_ASSIGN(std::optional<HostTensor> value, takeWeight(tensor, origin->second));
        if (!value)
          return checkShape(name, tensor, origin->second.shape);
        adapter.whole.emplace(weight.name, std::move(*value));
      }
      used.insert(name);
    }
    return isKnown || used.contains(name) ? Status(Success()) : unknown(name);
  }

  static bool hasName(const WeightOrigin &origin, const std::string &name) {
    return std::ranges::find(origin.names, name) != origin.names.end();
  }

  Error unknown(const std::string &name) const {
    std::string names;
    for (const auto &[linear, shape] : adapters)
      if (std::string last = linear.substr(linear.rfind('.') + 1); names.find(last) == std::string::npos)
        names += (names.empty() ? "" : ",") + last;
    return makeError(ErrorKind::InvalidArgument, "'", file.path().string(), "' has '", name,
                     "', for which the artifact has no adapter; it was compiled with --lora targets=", names,
                     ". Compile it with all targets of the adapter.");
  }

  // If the base shares one matrix between embedding and head, PEFT may train a saved one separately. Fails then, unless
  // both are equal.
  Status shareHead() {
    const std::string embedding = findSharedEmbedding(model);
    auto found = adapter.whole.find(embedding);
    if (embedding.empty() || (!head && found == adapter.whole.end()))
      return Success();
    const WeightOrigin &origin = model.tensors.find(embedding)->second;
    auto fail = [&](std::string_view which) {
      return makeError(ErrorKind::InvalidArgument, "'", file.path().string(), "' trained ", which,
                       ", and the base has one matrix for both, as the artifact does. Merge the adapter with PEFT, and "
                       "compile the merged model.");
    };
    if (!head)
      return file.config()->saves(origin.names.front().substr(0, origin.names.front().rfind('.'))) &&
                     !file.config()->tiesSaved
                 ? Status(fail(str("the embedding without the head, '", kSharedHead, "'")))
                 : Status(Success());
    HEDDLE_ASSIGN(std::optional<HostTensor> value, takeWeight(*head, origin));
    if (!value)
      return checkShape(kSharedHead, *head, origin.shape);
    if (found == adapter.whole.end()) {
      if (file.config()->saves(kSharedHead) && !file.config()->tiesSaved)
        return fail(str("the head, '", kSharedHead, "', without the embedding"));
      adapter.whole.emplace(embedding, std::move(*value));
      return Success();
    }
    if (!std::ranges::equal(found->second.bytes(), value->bytes()))
      return fail(str("the head, '", kSharedHead, "', and the embedding apart from each other"));
    return Success();
  }

  // Fails if tensors of a saved module are missing: the base's tensors would be used silently.
  Status checkSaved() const {
    if (!file.config())
      return Success();
    for (const auto &[weight, origin] : model.tensors) {
      std::string module = origin.names.front().substr(0, origin.names.front().rfind('.'));
      if (file.config()->saves(module) && !adapter.whole.contains(weight))
        return makeError(ErrorKind::Malformed, "'", file.path().string(), "' lacks '", origin.names.front(),
                         "', and modules_to_save says that it was trained; save the adapter again.");
    }
    return Success();
  }

  const AdapterFile &file;
  const Description &model;
  std::span<const VariableInfo> weights;
  std::map<std::string, LoraShape> adapters;
  Adapter adapter;
  std::optional<HostTensor> head; // set if the head shares the embedding's matrix
  std::set<std::string> used;
};

} // namespace

bool isAdapter(const fs::path &path) {
  std::error_code error;
  if (isGgufFile(path)) {
    Result<GgufReader> file = GgufReader::open(path);
    return file.ok() && isGgufAdapter(*file);
  }
  return fs::exists(path / kAdapterConfigFile, error) && !fs::exists(path / "manifest.json", error);
}

Result<Adapter> readAdapter(const fs::path &path, const Description &model, std::span<const VariableInfo> weights) {
  HEDDLE_ASSIGN(std::unique_ptr<AdapterFile> file, openAdapter(path, model));
  return Reading(*file, model, weights).read();
}

Status loadAdapter(const fs::path &path, Engine &engine) {
  HEDDLE_ASSIGN(Description model, Description::parse(engine.description()));
  HEDDLE_ASSIGN(Adapter found, readAdapter(path, model, engine.variables()));
  if (std::ranges::any_of(found.pairs, [](const auto &pair) { return pair.second.magnitude.has_value(); }))
    return makeError(
        ErrorKind::Unsupported, "'", path.string(),
        "' has use_dora = true, and Heddle runs and trains adapters that are two matrices and nothing else. "
        "`heddle-run merge` adds this adapter to its base, which is a model to run.");
  HEDDLE_CHECK(clearAdapter(engine));
  for (const auto &[linear, pair] : found.pairs)
    HEDDLE_CHECK(write(engine, linear, pair));
  for (const auto &[weight, value] : found.whole)
    HEDDLE_CHECK(engine.writeVariable(weight, value));
  return Success();
}

Status checkContinuation(const fs::path &path, const Engine &engine) {
  HEDDLE_ASSIGN(Description model, Description::parse(engine.description()));
  std::vector<VariableInfo> variables(engine.variables().begin(), engine.variables().end());
  HEDDLE_ASSIGN(Adapter found, readAdapter(path, model, variables));
  for (const VariableInfo &variable : variables)
    if (variable.kind != VariableKind::Weight && found.whole.contains(variable.name))
      return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' has the weight '", variable.name,
                       "' in the place of the base's, and the artifact would not train it; compile it with --lora=",
                       path.string(), ".");
  HEDDLE_ASSIGN(std::unique_ptr<AdapterFile> file, openAdapter(path, model));
  if (const AdapterConfig *config = file->config(); config && config->dropout != model.adapter.dropout)
    log(LogLevel::Warning, str("'", (path / kAdapterConfigFile).string(), "' has lora_dropout = ", config->dropout,
                               ", and training goes on with the artifact's, ", model.adapter.dropout,
                               "; --lora dropout=", config->dropout, " compiles it with the adapter's"));
  return Success();
}

std::vector<std::string> weightsBesideAdapters(const Engine &engine) {
  std::vector<std::string> names;
  std::map<std::string, LoraShape> adapters = findAdapters(engine.variables());
  auto isHalf = [&](std::string_view name) {
    return adapters.contains(std::string(name.substr(0, name.rfind('.')))) &&
           (name.ends_with(kLoraDown) || name.ends_with(kLoraUp));
  };
  for (const VariableInfo &variable : engine.variables())
    if (variable.kind == VariableKind::Weight && !variable.isStorage && !isHalf(variable.name))
      names.push_back(variable.name);
  return adapters.empty() ? std::vector<std::string>() : names;
}

Status clearAdapter(Engine &engine) {
  for (const auto &[path, shape] : findAdapters(engine.variables())) {
    HEDDLE_ASSIGN(LowRank none, zeros(shape));
    HEDDLE_CHECK(write(engine, path, none));
  }
  return Success();
}

} // namespace heddle
