#include "runtime/core/Gguf.h"
#include "runtime/core/Safetensors.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/AdapterFile.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char *kTensorFile = "adapter_model.safetensors";
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kPrefix = "base_model.model.", kTheirDown = ".lora_A.weight", kTheirUp = ".lora_B.weight",
                           kMagnitude = ".lora_magnitude_vector";

// The published name of a linear transformation, or of several that share a tensor, without ".weight".
std::optional<std::string> moduleOf(const std::string &linear, const Description &model) {
  std::optional<std::string> name = nameOfHolder(linear, model);
  if (!name || !name->ends_with(kWeight))
    return std::nullopt;
  return name->substr(0, name->size() - kWeight.size());
}

class PeftAdapter : public AdapterFile {
public:
  PeftAdapter(fs::path path, const Description &model, AdapterConfig config, SafetensorsReader reader)
      : AdapterFile(std::move(path), model), settings(std::move(config)), reader(std::move(reader)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> result;
    for (const SafetensorsEntry &entry : reader.entries())
      result.push_back(entry.name);
    return result;
  }
  bool has(const std::string &name) const override { return reader.find(name) != nullptr; }

  std::optional<Halves> halvesOf(const std::string &linear) const override {
    std::optional<std::string> module = moduleOf(linear, model);
    if (!module)
      return std::nullopt;
    return Halves{str(kPrefix, *module, kTheirDown), str(kPrefix, *module, kTheirUp),
                  settings.hasMagnitudes ? str(kPrefix, *module, kMagnitude) : ""};
  }
  Result<HostTensor> read(const std::string &name) const override { return reader.read(name); }
  Result<HostTensor> readOutputs(const std::string &linear, const std::string &name) const override {
    HEDDLE_ASSIGN(HostTensor outputs, reader.read(name));
    auto origin = model.tensors.find(linear + std::string(kWeight));
    return origin == model.tensors.end() ? std::move(outputs) : takeOutputs(std::move(outputs), origin->second);
  }
  Result<int64_t> rankOf(const std::string &linear) const override { return settings.rankOf(*moduleOf(linear, model)); }
  double scaleOf(const std::string &linear, int64_t) const override {
    return settings.scaleOf(*moduleOf(linear, model));
  }

  std::optional<std::string> publishedName(const std::string &name) const override {
    return name.starts_with(kPrefix) ? std::optional(name.substr(kPrefix.size())) : std::nullopt;
  }
  const AdapterConfig *config() const override { return &settings; }

private:
  AdapterConfig settings;
  SafetensorsReader reader;
};

// Writes the tensors of `entries`; `values` computes each one.
using Value = std::function<Result<HostTensor>()>;
Status writeTensors(const fs::path &path, const std::vector<SafetensorsEntry> &entries,
                    const std::vector<Value> &values) {
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(path, entries, {{"format", "pt"}}));
  for (const Value &value : values) {
    HEDDLE_ASSIGN(HostTensor tensor, value());
    HEDDLE_CHECK(writer.write(tensor.bytes()));
  }
  return writer.commit();
}

// A weight in the layout of the published tensor, which holds only this weight.
Result<HostTensor> asPublished(const SafetensorsReader &weights, const std::string &weight, const Shape &shape,
                               const Description &model) {
  HEDDLE_ASSIGN(HostTensor value, weights.read(weight));
  auto origin = model.tensors.find(weight);
  if (origin == model.tensors.end())
    return value;
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(ElementType::F32, shape));
  if (!putWeight(value, origin->second, tensor))
    return makeError(ErrorKind::Malformed, "'", weights.path().string(), "' has '", weight, "' as ",
                     describe(value.type(), value.shape()), ", and the model has it as ",
                     describe(ElementType::F32, origin->second.shape), "; use another checkpoint.");
  return tensor;
}

} // namespace

Result<std::unique_ptr<AdapterFile>> openPeftAdapter(const fs::path &folder, const Description &model) {
  HEDDLE_ASSIGN(AdapterConfig config, AdapterConfig::read(folder / kAdapterConfigFile));
  std::error_code error;
  if (!fs::exists(folder / kTensorFile, error))
    return makeError(ErrorKind::NotFound, "'", folder.string(), "' has no ", kTensorFile,
                     fs::exists(folder / "adapter_model.bin", error)
                         ? ". Heddle does not read adapter_model.bin; save the adapter as safetensors."
                         : "; download it.");
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(folder / kTensorFile));
  fs::path path = reader.path();
  return std::unique_ptr<AdapterFile>(
      std::make_unique<PeftAdapter>(std::move(path), model, std::move(config), std::move(reader)));
}

Result<bool> writePeftAdapter(const fs::path &weights, const fs::path &folder, const Description &model,
                              const std::string &base) {
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(weights));
  std::map<std::string, Shape, std::less<>> shapes;
  for (const SafetensorsEntry &entry : reader.entries())
    shapes.emplace(entry.name, entry.shape);
  std::vector<SafetensorsEntry> entries;
  std::vector<Value> values;
  Json targets = Json::array(), saved = Json::array();
  auto addOnce = [](Json &list, std::string name) {
    if (Json value = std::move(name); std::ranges::find(list, value) == list.end())
      list.push_back(std::move(value));
  };
  auto add = [&](const std::string &name, Shape shape, Value value) {
    entries.push_back({std::string(kPrefix) + name, ElementType::F32, std::move(shape)});
    values.push_back(std::move(value));
  };
  for (const auto &[linear, shape] : findLoraShapes(shapes)) {
    std::optional<std::string> module = moduleOf(linear, model);
    if (!module || !nameOfWhole(linear + std::string(kWeight), model))
      return false;
    for (auto [ours, theirs, rows, columns] :
         {std::tuple(kLoraDown, kTheirDown, shape[1], shape[0]), {kLoraUp, kTheirUp, shape[2], shape[1]}}) {
      std::string weight = linear + std::string(ours);
      shapes.erase(weight);
      add(*module + std::string(theirs), {rows, columns}, [&reader, weight, rows, columns]() -> Result<HostTensor> {
        HEDDLE_ASSIGN(HostTensor value, reader.read(weight));
        return transposePadded(value, rows, columns);
      });
    }
    addOnce(targets, module->substr(module->rfind('.') + 1));
  }
  for (const auto &[weight, ofWeight] : shapes) {
    std::optional<std::string> name = nameOfWhole(weight, model);
    if (!name)
      return false;
    Shape shape = ofWeight;
    if (auto origin = model.tensors.find(weight); origin != model.tensors.end() && origin->second.transpose)
      std::swap(shape.front(), shape.back());
    auto value = [&reader, &model, weight, shape] { return asPublished(reader, weight, shape, model); };
    add(*name, shape, value);
    addOnce(saved, name->substr(0, name->rfind('.')));
    if (weight == findSharedEmbedding(model)) { // PEFT stores a copy of the matrix for each of its modules
      add(kSharedHead + std::string(kWeight), shape, value);
      addOnce(saved, kSharedHead);
    }
  }
  HEDDLE_CHECK(writeTensors(folder / kTensorFile, entries, values));
  bool hasFolder = isPublishedModel(base) && !isGgufFile(base);
  nlohmann::ordered_json config = {{"peft_type", "LORA"},
                                   {"task_type", model.architecture == "decoder" ? Json("CAUSAL_LM") : Json()},
                                   {"base_model_name_or_path", hasFolder ? Json(base) : Json()},
                                   {"r", model.adapter.rank},
                                   {"lora_alpha", model.adapter.alpha},
                                   {"lora_dropout", model.adapter.dropout},
                                   {"target_modules", targets},
                                   {"bias", "none"},
                                   {"fan_in_fan_out", false},
                                   {"modules_to_save", saved.empty() ? Json() : saved},
                                   {"inference_mode", true}};
  HEDDLE_CHECK(writeFile(folder / kAdapterConfigFile,
                         config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n")); // paths may not be UTF-8
  return true;
}

} // namespace heddle
