#include "runtime/core/Gguf.h"
#include "runtime/core/Safetensors.h"
#include "runtime/published/GgufModel.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/AdapterFile.h"

#include <algorithm>
#include <tuple>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTypeKey = "adapter.type", *kAlphaKey = "adapter.lora.alpha";

// The weight of a linear transformation, with its place in GGUF files; null if it has none.
const WeightOrigin *originOf(const std::string &linear, const Description &model) {
  auto origin = model.tensors.find(weightOf(linear, model));
  return origin != model.tensors.end() && origin->second.gguf && origin->second.inGguf().transpose ? &origin->second
                                                                                                   : nullptr;
}

class GgufAdapter : public AdapterFile {
public:
  GgufAdapter(const Description &model, GgufReader reader, double alpha)
      : AdapterFile(reader.path(), model), reader(std::move(reader)), alpha(alpha) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const GgufEntry &entry : reader.entries())
      result.push_back(entry.name);
    return result;
  }
  bool has(const std::string &name) const override { return reader.find(name) != nullptr; }

  std::vector<Module> modulesOf(const std::string &linear, int64_t matrices) const override {
    const WeightOrigin *origin = originOf(linear, model);
    if (!origin)
      return {};
    return {{.name = "",
             .down = origin->gguf->name + std::string(kLoraDown),
             .up = origin->gguf->name + std::string(kLoraUp),
             .matrices = matrices}};
  }

  Result<Pair> readPair(const std::string &linear, const Module &module) const override {
    Pair pair;
    HEDDLE_ASSIGN(pair.down, readRows(module.down, module.matrices));
    HEDDLE_ASSIGN(HostTensor up, readRows(module.up, module.matrices));
    const WeightOrigin &origin = *originOf(linear, model);
    int64_t heads = origin.gguf->pairedHeads;
    if (heads > 0 && up.shape()[0] % (2 * heads) != 0)
      return makeError(ErrorKind::InvalidArgument, "'", path().string(), "' has '", module.up, "' as ",
                       describe(up.type(), up.shape()), ", which is not made of ", heads,
                       " heads of pairs. The adapter belongs to another model.");
    if (heads > 0 && !up.values<float>().empty())
      splitPairs(up.values<float>(), up.shape()[1], heads);
    HEDDLE_ASSIGN(pair.up, takeOutputs(std::move(up), origin.inGguf()));
    pair.rank = pair.down.shape()[0] / module.matrices;
    return pair;
  }
  Result<HostTensor> readMagnitude(const std::string &, const Module &module) const override {
    return readWhole(module.magnitude);
  }
  Result<HostTensor> readWhole(const std::string &name) const override { return readRows(name, 1); }

  double scaleOf(const Module &, int64_t rank) const override {
    return alpha != 0 && rank > 0 ? alpha / double(rank) : 1; // as in llama.cpp
  }

  std::optional<std::string> publishedName(const std::string &) const override { return std::nullopt; }
  const AdapterConfig *config() const override { return nullptr; }

private:
  // Reads a matrix, or one for each expert, one below the other.
  Result<HostTensor> readRows(const std::string &name, int64_t matrices) const {
    const GgufEntry &entry = *reader.find(name);
    if (!entry.readType())
      return makeError(ErrorKind::Unsupported, "'", path().string(), "' has '", name, "' as ",
                       nameOfGgufType(entry.type), ", and Heddle reads ", readGgufTypes(), ".");
    bool isStack = matrices > 1;
    if (entry.shape.size() != (isStack ? 3 : 2) || (isStack && entry.shape[0] != matrices))
      return makeError(ErrorKind::Malformed, "'", path().string(), "' has '", name, "' as ",
                       describe(ElementType::F32, entry.shape), ", which is ",
                       isStack ? str("no stack of ", matrices, " matrices") : "no matrix",
                       "; convert the adapter again.");
    HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry));
    if (!isStack)
      return tensor;
    return HostTensor::create<float>({matrices * entry.shape[1], entry.shape[2]},
                                     std::as_const(tensor).values<float>());
  }

  GgufReader reader;
  double alpha;
};

std::string textOf(const GgufReader &file, const char *key) {
  const GgufValue *value = file.value(key);
  return value && value->text() ? *value->text() : "";
}

} // namespace

Result<std::unique_ptr<AdapterFile>> openGgufAdapter(const fs::path &path, const Description &model) {
  HEDDLE_ASSIGN(GgufReader reader, GgufReader::open(path));
  if (std::string type = textOf(reader, kTypeKey); type != "lora")
    return makeError(ErrorKind::Unsupported, "'", path.string(), "' has ", kTypeKey, " = \"", type,
                     "\", and Heddle reads adapters of the type \"lora\".");
  const GgufValue *alpha = reader.value(kAlphaKey);
  if (alpha && !alpha->number())
    return makeError(ErrorKind::Malformed, "'", path.string(), "' has a ", kAlphaKey,
                     " that is no number; convert the adapter again.");
  if (std::ranges::none_of(model.tensors, [](const auto &weight) { return weight.second.gguf.has_value(); }))
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' is an adapter for llama.cpp, and the artifact's model has no GGUF files; use PEFT's folder.");
  double scale = alpha ? *alpha->number() : 0;
  return std::unique_ptr<AdapterFile>(std::make_unique<GgufAdapter>(model, std::move(reader), scale));
}

Status writeGgufAdapter(const fs::path &weights, const fs::path &path, const Description &model,
                        const std::string &architecture) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(weights));
  std::map<std::string, Shape, std::less<>> shapes;
  for (const SafetensorsEntry &entry : reader.entries())
    shapes.emplace(entry.name, entry.shape);
  struct Half {
    std::string name, weight;
    int64_t matrices, rows, columns, pairedHeads;
  };
  std::vector<Half> halves;
  for (const auto &[linear, shape] : findLoraShapes(shapes)) {
    const WeightOrigin *origin = originOf(linear, model);
    if (!origin || origin->gguf->rows)
      return makeError(
          ErrorKind::Unsupported, "'", weights.string(), "' has an adapter for '", linear,
          "', which is no matrix of its own in a GGUF file; merge the adapter, or export it as PEFT's folder.");
    for (auto [ending, rows, columns, heads] : {std::tuple(kLoraDown, shape.rank, shape.inputs, int64_t(0)),
                                                {kLoraUp, shape.outputs, shape.rank, origin->gguf->pairedHeads}}) {
      std::string weight = linear + std::string(ending);
      shapes.erase(weight);
      halves.push_back({origin->gguf->name + std::string(ending), weight, shape.matrices, rows, columns, heads});
    }
  }
  if (!shapes.empty())
    return makeError(
        ErrorKind::Unsupported, "'", weights.string(), "' has the whole weight '", shapes.begin()->first,
        "', and llama.cpp's adapters have pairs of matrices only; merge the adapter, or export it as PEFT's "
        "folder.");
  std::string header = ggufHeader(halves.size(), 4) + ggufValue("general.type", "adapter") +
                       ggufValue("general.architecture", architecture) + ggufValue(kTypeKey, "lora") +
                       ggufValue(kAlphaKey, float(model.adapter.alpha));
  constexpr uint64_t alignment = 32; // GGUF's default alignment
  auto padded = [](uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  uint64_t place = 0;
  for (const Half &half : halves) {
    Shape stored = {half.rows, half.columns};
    if (half.matrices > 1)
      stored.insert(stored.begin(), half.matrices);
    header += ggufTensorInfo(half.name, stored, kGgufF32, place);
    place += padded(uint64_t(*elementCount(stored)) * sizeof(float));
  }
  header.resize(padded(header.size()), '\0');
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(header))));
  for (const Half &half : halves) {
    HEDDLE_ASSIGN(HostTensor value, reader.read(half.weight));
    HEDDLE_ASSIGN(HostTensor stored,
                  HostTensor::uninitialized(ElementType::F32, {half.matrices * half.rows, half.columns}));
    for (int64_t i = 0; i < half.matrices; ++i)
      transposeInto(matrixOf(std::as_const(value), i, half.columns), half.rows, matrixOf(stored, i, half.rows),
                    half.columns);
    if (half.pairedHeads != 0)
      joinPairs(stored.values<float>(), half.columns, half.pairedHeads);
    HEDDLE_CHECK(file.write(stored.bytes()));
    std::vector<std::byte> rest(padded(stored.bytes().size()) - stored.bytes().size());
    HEDDLE_CHECK(file.write(rest));
  }
  return file.commit();
}

} // namespace heddle
