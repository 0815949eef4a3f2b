#include "runtime/core/Gguf.h"
#include "runtime/core/JoinedExperts.h"
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
constexpr std::string_view kWeight = ".weight", kBelow = ".base_layer";
constexpr std::string_view kPrefix = "base_model.model.", kTheirDown = ".lora_A.weight", kTheirUp = ".lora_B.weight",
                           kMagnitude = ".lora_magnitude_vector";

// The published module whose weight the tensor is.
std::optional<std::string> moduleOf(std::string_view tensor) {
  if (!tensor.ends_with(kWeight))
    return std::nullopt;
  return std::string(tensor.substr(0, tensor.size() - kWeight.size()));
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

  std::vector<Module> modulesOf(const std::string &linear, int64_t matrices) const override {
    auto origin = model.tensors.find(weightOf(linear, model));
    int64_t stacked = origin == model.tensors.end() ? 0 : origin->second.stacked;
    std::vector<Module> first; // under the first of the tensor's names, which errors mention
    for (const std::string &tensor : namesOfHolder(linear, model)) {
      std::optional<std::string> name = moduleOf(tensor);
      if (!name)
        continue;
      std::vector<Module> modules;
      for (int64_t i = 0; i < std::max<int64_t>(1, stacked); ++i)
        modules.push_back(moduleCalled(nameInStack(*name, i)));
      if (std::ranges::any_of(modules, [&](const Module &module) { return has(module.down) || has(module.up); }))
        return modules;
      if (first.empty())
        first = std::move(modules);
    }
    if (origin != model.tensors.end() && matrices > 1)
      if (std::optional<Module> joined = joinedModule(origin->second, matrices))
        return {std::move(*joined)};
    return first;
  }

  Result<HostTensor> readDown(const Module &module) const override { return reader.read(module.down); }
  Result<HostTensor> readUp(const std::string &linear, const Module &module) const override {
    return module.isJoined ? readJoined(linear, module) : readOutputs(linear, module.up);
  }
  Result<HostTensor> readMagnitude(const std::string &linear, const Module &module) const override {
    return readOutputs(linear, module.magnitude);
  }
  Result<HostTensor> readWhole(const std::string &name) const override { return reader.read(name); }
  Result<int64_t> rankOf(const Module &module) const override { return settings.rankOf(module.name); }
  double scaleOf(const Module &module, int64_t) const override { return settings.scaleOf(module.name); }

  std::optional<std::string> publishedName(const std::string &name) const override {
    return name.starts_with(kPrefix) ? std::optional(name.substr(kPrefix.size())) : std::nullopt;
  }
  const AdapterConfig *config() const override { return &settings; }

private:
  Module moduleCalled(const std::string &name) const {
    return {.name = name,
            .down = str(kPrefix, name, kTheirDown),
            .up = str(kPrefix, name, kTheirUp),
            .magnitude = settings.hasMagnitudes ? str(kPrefix, name, kMagnitude) : ""};
  }

  // The tensor of all experts that the weight is a part of, by one of the names of the weight's own tensor.
  static std::optional<JoinedExperts> joinedTensor(const WeightOrigin &origin, const std::string &name) {
    return origin.stacked > 0 ? joinExperts(name) : JoinedExperts{name, origin.part, origin.parts};
  }

  // PEFT has the adapters of all experts' A below each other, matrices * rank x inputs, and their B interleaved, outputs x
  // rank * matrices. If several tensors of a module have adapters, each is in the `base_layer` of the next.
  std::optional<Module> joinedModule(const WeightOrigin &origin, int64_t matrices) const {
    for (const std::string &name : origin.names) {
      std::optional<JoinedExperts> joined = joinedTensor(origin, name);
      if (!joined)
        continue;
      int64_t inputs = origin.shape[0] / matrices, outputs = origin.shape[1] * joined->parts;
      std::string place = joined->name.substr(0, joined->name.rfind('.'));
      for (;; place += kBelow) {
        const SafetensorsEntry *down = reader.find(str(kPrefix, place, kTheirDown)),
                               *up = reader.find(str(kPrefix, place, kTheirUp));
        if (!down || !up)
          break;
        bool fits = down->shape.size() == 2 && up->shape.size() == 2 && down->shape[1] == inputs &&
                    up->shape[0] == outputs && down->shape[0] == up->shape[1] && down->shape[0] % matrices == 0;
        if (fits)
          return Module{
              .name = joined->name, .down = down->name, .up = up->name, .matrices = matrices, .isJoined = true};
      }
    }
    return std::nullopt;
  }

  Result<HostTensor> readJoined(const std::string &linear, const Module &module) const {
    HEDDLE_ASSIGN(HostTensor all, reader.read(module.up));
    const WeightOrigin &origin = model.tensors.find(weightOf(linear, model))->second;
    const JoinedExperts joined = *joinedTensor(origin, origin.names.front());
    int64_t outputs = origin.shape[1], rank = all.shape()[1] / module.matrices;
    HEDDLE_ASSIGN(HostTensor own, HostTensor::uninitialized(ElementType::F32, {module.matrices * outputs, rank}));
    std::span<const float> from = all.values<float>();
    float *to = own.values<float>().data();
    for (int64_t i = 0; i < module.matrices; ++i)
      for (int64_t o = 0; o < outputs; ++o) {
        int64_t row = origin.isInterleaved ? o * joined.parts + joined.part : joined.part * outputs + o;
        for (int64_t r = 0; r < rank; ++r)
          *to++ = from[size_t((row * rank + r) * module.matrices + i)];
      }
    return own;
  }

  Result<HostTensor> readOutputs(const std::string &linear, const std::string &name) const {
    HEDDLE_ASSIGN(HostTensor outputs, reader.read(name));
    auto origin = model.tensors.find(weightOf(linear, model));
    return origin == model.tensors.end() ? std::move(outputs) : takeOutputs(std::move(outputs), origin->second);
  }

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

// The published module of an adapter, with a `*` for the number of each expert. nullopt if PEFT has no form for the
// adapter.
std::optional<std::string> moduleOfAdapter(const std::string &linear, const LoraShape &shape,
                                           const Description &model) {
  std::string weight = weightOf(linear, model);
  auto origin = model.tensors.find(weight);
  bool isStacked = origin != model.tensors.end() && origin->second.stacked > 0;
  if (shape.matrices != (isStacked ? origin->second.stacked : 1))
    return std::nullopt;
  std::optional<std::string> tensor = isStacked ? origin->second.names.front() : nameOfWhole(weight, model);
  return tensor ? moduleOf(*tensor) : std::nullopt;
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
  HostTensor all; // A or B of all experts, which are written one after the other
  for (const auto &[linear, shape] : findLoraShapes(shapes)) {
    std::optional<std::string> module = moduleOfAdapter(linear, shape, model);
    if (!module)
      return false;
    for (auto [ours, theirs, rows, columns] : {std::tuple(kLoraDown, kTheirDown, shape.rank, shape.inputs),
                                               {kLoraUp, kTheirUp, shape.outputs, shape.rank}}) {
      std::string weight = linear + std::string(ours);
      shapes.erase(weight);
      for (int64_t i = 0; i < shape.matrices; ++i)
        add(nameInStack(*module, i) + std::string(theirs), {rows, columns},
            [&, weight, i, rows, columns]() -> Result<HostTensor> {
              if (i == 0) {
                HEDDLE_ASSIGN(all, reader.read(weight));
              }
              HEDDLE_ASSIGN(HostTensor value, HostTensor::uninitialized(ElementType::F32, {rows, columns}));
              transposeInto(matrixOf(std::as_const(all), i, columns), rows, value.values<float>(), columns);
              return value;
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
