#include "runtime/core/Gguf.h"
#include "runtime/core/Safetensors.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/AdapterFile.h"
#include "runtime/train/JoinedAdapter.h"

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

  Result<Pair> readPair(const std::string &linear, const Module &module) const override {
    Pair pair;
    HEDDLE_ASSIGN(pair.down, reader.read(module.down));
    if (!module.isJoined) {
      HEDDLE_ASSIGN(pair.up, readOutputs(linear, module.up));
      pair.rank = settings.rankOf(module.name);
      return pair;
    }
    JoinedHalves joined{.down = std::move(pair.down), .matrices = module.matrices};
    HEDDLE_ASSIGN(joined.up, reader.read(module.up));
    const WeightOrigin &origin = model.tensors.find(weightOf(linear, model))->second;
    const JoinedPart part = *joinedPart(origin, origin.names.front());
    std::vector<int64_t> ranks = joined.ranksOf(part);
    pair.rank = int64_t(ranks.size());
    HEDDLE_ASSIGN(pair.down, joined.takeDown(ranks));
    HEDDLE_ASSIGN(pair.up, joined.takeUp(ranks, part));
    return pair;
  }
  Result<HostTensor> readMagnitude(const std::string &linear, const Module &module) const override {
    return readOutputs(linear, module.magnitude);
  }
  Result<HostTensor> readWhole(const std::string &name) const override { return reader.read(name); }
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

  // If several tensors of a module have adapters, each is in the `base_layer` of the next.
  std::optional<Module> joinedModule(const WeightOrigin &origin, int64_t matrices) const {
    for (const std::string &name : origin.names) {
      std::optional<JoinedPart> joined = joinedPart(origin, name);
      if (!joined)
        continue;
      int64_t inputs = origin.shape[0] / matrices, outputs = origin.shape[1] * joined->parts;
      std::string place = joined->tensor.substr(0, joined->tensor.rfind('.'));
      for (;; place += kBelow) {
        const SafetensorsEntry *down = reader.find(str(kPrefix, place, kTheirDown)),
                               *up = reader.find(str(kPrefix, place, kTheirUp));
        if (!down || !up)
          break;
        bool fits = down->shape.size() == 2 && up->shape.size() == 2 && down->shape[1] == inputs &&
                    up->shape[0] == outputs && down->shape[0] == up->shape[1] &&
                    down->shape[0] == matrices * settings.rankOf(joined->tensor);
        if (fits)
          return Module{
              .name = joined->tensor, .down = down->name, .up = up->name, .matrices = matrices, .isJoined = true};
      }
    }
    return std::nullopt;
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

// Adapters of tensors of all experts. PEFT wraps a module's tensors in their order in the module, in which gate_up_proj is
// before down_proj.
using JoinedByTensor = std::map<std::string, JoinedAdapters, std::greater<>>;

std::string ownerOf(const std::string &tensor) { return tensor.substr(0, tensor.rfind('.')); }

// Returns false if the weight is in no such tensor, or in one of which PEFT has no adapters.
bool addJoined(const std::string &linear, const LoraShape &shape, const Description &model, JoinedByTensor &joined) {
  auto origin = model.tensors.find(weightOf(linear, model));
  bool isJoined = origin != model.tensors.end() && shape.matrices > 1 && origin->second.stacked == 0 &&
                  !origin->second.rows && !origin->second.leadingRows && !moduleOf(origin->second.names.front());
  if (!isJoined)
    return false;
  JoinedPart part = *joinedPart(origin->second, origin->second.names.front());
  JoinedAdapters &adapters = joined[part.tensor];
  adapters.shape = shape;
  adapters.parts = part.parts;
  adapters.linears.push_back(linear);
  adapters.adapted.push_back(std::move(part));
  return true;
}

// Reads A or B of all linear transformations of a tensor from a checkpoint's weights.
Result<HostTensor> joinHalves(const SafetensorsReader &weights, const JoinedAdapters &adapters, bool isUp) {
  HEDDLE_ASSIGN(HostTensor all, HostTensor::uninitialized(ElementType::F32, isUp ? adapters.up() : adapters.down()));
  std::ranges::fill(all.values<float>(), 0.0f);
  for (size_t i = 0; i < adapters.linears.size(); ++i) {
    HEDDLE_ASSIGN(HostTensor half, weights.read(adapters.linears[i] + std::string(isUp ? kLoraUp : kLoraDown)));
    isUp ? adapters.putUp(half, i, all) : adapters.putDown(half, i, all);
  }
  return all;
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
  JoinedByTensor joined;
  for (const auto &[linear, shape] : findLoraShapes(shapes)) {
    std::optional<std::string> module = moduleOfAdapter(linear, shape, model);
    if (!module) {
      if (!addJoined(linear, shape, model, joined))
        return false;
      shapes.erase(linear + std::string(kLoraDown));
      shapes.erase(linear + std::string(kLoraUp));
      continue;
    }
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
  Json parameters = Json::array(), ranks = Json::object(), alphas = Json::object();
  for (auto found = joined.begin(); found != joined.end(); ++found) {
    const auto &[tensor, adapters] = *found;
    if (std::ssize(adapters.adapted) != adapters.parts) // an adapter of the tensor is one of all its parts
      return false;
    const std::string owner = ownerOf(tensor);
    std::string place = owner;
    for (auto next = std::next(found); next != joined.end() && ownerOf(next->first) == owner; ++next)
      place += kBelow;
    for (bool isUp : {false, true})
      add(place + std::string(isUp ? kTheirUp : kTheirDown), isUp ? adapters.up() : adapters.down(),
          [&reader, &adapters, isUp] { return joinHalves(reader, adapters, isUp); });
    addOnce(parameters, tensor.substr(owner.size() + 1));
    if (adapters.adapted.size() > 1) { // the same factor of A B
      ranks[tensor] = adapters.rank();
      alphas[tensor] = model.adapter.alpha * double(adapters.adapted.size());
    }
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
                                   {"rank_pattern", ranks},
                                   {"alpha_pattern", alphas},
                                   // PEFT has no dropout for tensors of experts.
                                   {"lora_dropout", joined.empty() ? model.adapter.dropout : 0},
                                   {"target_modules", targets},
                                   {"target_parameters", parameters.empty() ? Json() : parameters},
                                   {"bias", "none"},
                                   {"fan_in_fan_out", false},
                                   {"modules_to_save", saved.empty() ? Json() : saved},
                                   {"inference_mode", true}};
  HEDDLE_CHECK(writeFile(folder / kAdapterConfigFile,
                         config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n")); // paths may not be UTF-8
  return true;
}

} // namespace heddle
