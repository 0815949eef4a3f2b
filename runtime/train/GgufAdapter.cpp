#include "runtime/core/Gguf.h"
#include "runtime/core/Safetensors.h"
#include "runtime/published/GgufModel.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/AdapterFile.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTypeKey = "adapter.type", *kAlphaKey = "adapter.lora.alpha";

// The weight of a linear transformation, with its place in GGUF files; null if it has none.
const WeightOrigin *originOf(const std::string &linear, const Description &model) {
  auto origin = model.tensors.find(linear + ".weight");
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

  std::optional<Halves> halvesOf(const std::string &linear) const override {
    const WeightOrigin *origin = originOf(linear, model);
    if (!origin)
      return std::nullopt;
    return Halves{origin->gguf->name + std::string(kLoraDown), origin->gguf->name + std::string(kLoraUp), ""};
  }

  Result<HostTensor> read(const std::string &name) const override {
    const GgufEntry &entry = *reader.find(name);
    if (!entry.readType())
      return makeError(ErrorKind::Unsupported, "'", path().string(), "' has '", name, "' as ",
                       nameOfGgufType(entry.type), ", and Heddle reads ", readGgufTypes(), ".");
    if (entry.shape.size() != 2)
      return makeError(ErrorKind::Malformed, "'", path().string(), "' has '", name, "' as ",
                       describe(ElementType::F32, entry.shape), ", which is no matrix; convert the adapter again.");
    return reader.read(entry);
  }

  Result<HostTensor> readOutputs(const std::string &linear, const std::string &name) const override {
    HEDDLE_ASSIGN(HostTensor up, read(name));
    const WeightOrigin &origin = *originOf(linear, model);
    int64_t heads = origin.gguf->pairedHeads;
    if (heads > 0 && up.shape()[0] % (2 * heads) != 0)
      return makeError(ErrorKind::InvalidArgument, "'", path().string(), "' has '", name, "' as ",
                       describe(up.type(), up.shape()), ", which is not made of ", heads,
                       " heads of pairs. The adapter belongs to another model.");
    if (heads > 0 && !up.values<float>().empty())
      splitPairs(up.values<float>(), up.shape()[1], heads);
    return takeOutputs(std::move(up), origin.inGguf());
  }

  Result<int64_t> rankOf(const std::string &linear) const override {
    HEDDLE_ASSIGN(HostTensor down, read(halvesOf(linear)->down));
    return down.shape()[0];
  }
  double scaleOf(const std::string &, int64_t rank) const override {
    return alpha != 0 && rank > 0 ? alpha / double(rank) : 1; // as in llama.cpp
  }

  std::optional<std::string> publishedName(const std::string &) const override { return std::nullopt; }
  const AdapterConfig *config() const override { return nullptr; }

private:
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
    int64_t rows, columns, pairedHeads;
  };
  std::vector<Half> halves;
  for (const auto &[linear, shape] : findLoraShapes(shapes)) {
    const WeightOrigin *origin = originOf(linear, model);
    if (!origin || origin->gguf->rows)
      return makeError(
          ErrorKind::Unsupported, "'", weights.string(), "' has an adapter for '", linear,
          "', which is no matrix of its own in a GGUF file; merge the adapter, or export it as PEFT's folder.");
    for (auto [ending, rows, columns, heads] : {std::tuple(kLoraDown, shape[1], shape[0], int64_t(0)),
                                                {kLoraUp, shape[2], shape[1], origin->gguf->pairedHeads}}) {
      std::string weight = linear + std::string(ending);
      shapes.erase(weight);
      halves.push_back({origin->gguf->name + std::string(ending), weight, rows, columns, heads});
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
    header += ggufTensorInfo(half.name, std::array{half.rows, half.columns}, kGgufF32, place);
    place += padded(uint64_t(half.rows * half.columns) * sizeof(float));
  }
  header.resize(padded(header.size()), '\0');
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(header))));
  for (const Half &half : halves) {
    HEDDLE_ASSIGN(HostTensor value, reader.read(half.weight));
    HEDDLE_ASSIGN(HostTensor stored, transposePadded(value, half.rows, half.columns));
    if (half.pairedHeads != 0)
      joinPairs(stored.values<float>(), half.columns, half.pairedHeads);
    HEDDLE_CHECK(file.write(stored.bytes()));
    std::vector<std::byte> rest(padded(stored.bytes().size()) - stored.bytes().size());
    HEDDLE_CHECK(file.write(rest));
  }
  return file.commit();
}

} // namespace heddle
