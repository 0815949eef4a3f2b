#include "runtime/train/Adapter.h"

#include "runtime/core/Json.h"
#include "runtime/core/Log.h"
#include "runtime/core/Safetensors.h"

#include <cmath>
#include <set>

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char *kConfigFile = "adapter_config.json", *kTensorFile = "adapter_model.safetensors";
constexpr uint64_t kConfigLimit = 1 << 20;
constexpr std::string_view kDown = ".lora_a", kUp = ".lora_b", kWeight = ".weight";
constexpr std::string_view kPrefix = "base_model.model.", kTheirDown = ".lora_A.weight", kTheirUp = ".lora_B.weight";

// The linear transformations that have adapters, by path.
std::map<std::string, Shape> findAdapters(std::span<const VariableInfo> variables) {
  std::map<std::string, Shape> shapes; // inputs, rank, outputs
  for (const VariableInfo &down : variables) {
    if (down.kind != VariableKind::Weight || !down.name.ends_with(kDown) || down.shape.size() != 2)
      continue;
    std::string path = down.name.substr(0, down.name.size() - kDown.size());
    for (const VariableInfo &up : variables)
      if (up.name == path + std::string(kUp) && up.shape.size() == 2 && up.shape[0] == down.shape[1])
        shapes[path] = {down.shape[0], down.shape[1], up.shape[1]};
  }
  return shapes;
}

// What the published model calls a linear transformation, without ".weight"; our own path where it was not published.
// Nothing where it is a part of a tensor.
std::optional<std::string> nameInFiles(const std::string &path, const Description &model) {
  auto origin = model.tensors.find(path + std::string(kWeight));
  if (origin == model.tensors.end())
    return model.tensors.empty() ? std::optional(path) : std::nullopt;
  const std::string &name = origin->second.names.front();
  if (origin->second.parts != 1 || !name.ends_with(kWeight))
    return std::nullopt;
  return name.substr(0, name.size() - kWeight.size());
}

// The tensor the other way round, times `scale`, with rows or columns of zeros up to the extents.
Result<HostTensor> transpose(const HostTensor &from, int64_t rows, int64_t columns, float scale = 1) {
  HEDDLE_ASSIGN(HostTensor result, HostTensor::uninitialized(ElementType::F32, {rows, columns}));
  std::span<const float> source = from.values<float>();
  std::span<float> to = result.values<float>();
  std::ranges::fill(to, 0.0f);
  int64_t height = from.shape()[0], width = from.shape()[1];
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column)
      to[size_t(column * columns + row)] = scale * source[size_t(row * width + column)];
  return result;
}

// The rank and the scale of adapters, which patterns change for some modules.
struct Config {
  int64_t rank = 0;
  double alpha = 0;
  double dropout = 0;
  bool byRoot = false; // the scale is alpha / sqrt(rank), else alpha / rank
  Json ranks, alphas;  // by names, or ends of names, of modules

  // A pattern is a module's name or what follows a dot in it, as PEFT matches them.
  static const Json *find(const Json &patterns, std::string_view module) {
    for (const auto &[pattern, value] : patterns.items())
      if (module == pattern || module.ends_with("." + pattern))
        return &value;
    return nullptr;
  }
  int64_t rankOf(std::string_view module) const {
    const Json *own = find(ranks, module);
    return own ? own->get<int64_t>() : rank;
  }
  double scaleOf(std::string_view module) const {
    const Json *own = find(alphas, module);
    auto order = double(rankOf(module));
    return (own ? own->get<double>() : alpha) / (byRoot ? std::sqrt(order) : order);
  }
};

bool isRank(const Json &value) {
  return value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= 65536;
}
bool isDropout(const Json &value) { return value.is_number() && value.get<double>() >= 0 && value.get<double>() < 1; }
bool isAlpha(const Json &value) { return value.is_number() && value.get<double>() > 0; }

// An object of numbers by plain names of modules; null is an empty one. PEFT takes regular expressions, too.
template <typename Fits> std::optional<Json> readPatterns(const Json &value, Fits fits) {
  Json patterns = Json::object();
  if (value.is_null())
    return patterns;
  if (!value.is_object())
    return std::nullopt;
  for (const auto &[pattern, number] : value.items()) {
    std::string_view name = pattern;
    if (name.starts_with('^'))
      name.remove_prefix(1);
    bool isPlain = !name.empty() && name.find_first_of("\\*+?()[]{}|^$") == std::string_view::npos;
    if (!isPlain || !fits(number))
      return std::nullopt;
    patterns[std::string(name)] = number;
  }
  return patterns;
}

Result<Config> readConfig(const fs::path &path) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kConfigLimit));
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  HEDDLE_ASSIGN(Json json, parseJson(text, str("'", path.string(), "'")));
  auto value = [&](const char *key) { return json.is_object() && json.contains(key) ? json[key] : Json(); };
  auto unsupported = [&](const char *key, const char *wanted) {
    return makeError(ErrorKind::Unsupported, "'", path.string(), "' has ", key, " = ", value(key).dump().substr(0, 60),
                     ", and Heddle reads adapters ", wanted, ".");
  };
  if (value("peft_type") != "LORA")
    return unsupported("peft_type", "of the type \"LORA\"");
  for (const char *key : {"use_dora", "lora_bias"})
    if (value(key) == true)
      return unsupported(key, "that are two matrices and nothing else");
  // Some initialisations take a part of the base's weights into the adapter: PEFT changes the base when it loads these.
  if (const Json start = value("init_lora_weights");
      !start.is_null() && !start.is_boolean() && start != "gaussian" && start != "orthogonal" && start != "eva")
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' has init_lora_weights = ", start.dump().substr(0, 60),
                     ": the adapter belongs to a base whose weights PEFT changes when it loads the adapter, and Heddle "
                     "leaves the base as it is. Convert it to plain LoRA: PEFT's save_pretrained does so with "
                     "path_initial_model_for_weight_conversion.");
  for (const char *key : {"layer_replication", "alora_invocation_tokens", "use_qalora", "use_bdlora"})
    if (const Json given = value(key); !given.empty() && given != false)
      return unsupported(key, "of the layers that the base has, each as it is");
  if (const Json bias = value("bias"); !bias.is_null() && bias != "none")
    return unsupported("bias", "without biases (\"none\")");
  if (!value("modules_to_save").empty()) // null is empty too
    return unsupported("modules_to_save", "without other trained tensors beside them");
  std::optional<Json> ranks = readPatterns(value("rank_pattern"), isRank),
                      alphas = readPatterns(value("alpha_pattern"), isAlpha);
  if (!ranks || !alphas)
    return unsupported(ranks ? "alpha_pattern" : "rank_pattern",
                       "whose patterns are names of modules, or ends of names, with a number each");
  const Json rank = value("r"), alpha = value("lora_alpha");
  if (!isRank(rank) || !isAlpha(alpha))
    return makeError(ErrorKind::Malformed, "'", path.string(), "' has r = ", rank.dump().substr(0, 60),
                     " and lora_alpha = ", alpha.dump().substr(0, 60),
                     ", which should be a whole number and a number above 0; save the adapter again.");
  const Json dropout = value("lora_dropout");
  if (!dropout.is_null() && !isDropout(dropout))
    return makeError(ErrorKind::Malformed, "'", path.string(), "' has lora_dropout = ", dropout.dump().substr(0, 60),
                     ", which should be a number from 0 to below 1; save the adapter again.");
  return Config{rank.get<int64_t>(),         alpha.get<double>(), dropout.is_null() ? 0 : dropout.get<double>(),
                value("use_rslora") == true, std::move(*ranks),   std::move(*alphas)};
}

Status write(Engine &engine, const std::string &path, const LowRank &adapter) {
  HEDDLE_CHECK(engine.writeVariable(path + std::string(kDown), adapter.down));
  return engine.writeVariable(path + std::string(kUp), adapter.up);
}

Result<LowRank> zeros(const Shape &shape) {
  LowRank result;
  HEDDLE_ASSIGN(result.down, HostTensor::uninitialized(ElementType::F32, {shape[0], shape[1]}));
  HEDDLE_ASSIGN(result.up, HostTensor::uninitialized(ElementType::F32, {shape[1], shape[2]}));
  std::ranges::fill(result.down.values<float>(), 0.0f);
  std::ranges::fill(result.up.values<float>(), 0.0f);
  return result;
}

} // namespace

bool isAdapterFolder(const fs::path &folder) {
  std::error_code error;
  return fs::exists(folder / kConfigFile, error) && !fs::exists(folder / "manifest.json", error);
}

Result<LowRanks> readAdapter(const fs::path &folder, const Description &model, std::span<const VariableInfo> weights) {
  HEDDLE_ASSIGN(Config config, readConfig(folder / kConfigFile));
  std::error_code error;
  if (!fs::exists(folder / kTensorFile, error))
    return makeError(ErrorKind::NotFound, "'", folder.string(), "' has no ", kTensorFile,
                     fs::exists(folder / "adapter_model.bin", error)
                         ? ". Heddle does not read adapter_model.bin; save the adapter as safetensors."
                         : "; download it.");
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(folder / kTensorFile));
  LowRanks found;
  std::set<std::string> used;
  std::map<std::string, Shape> adapters = findAdapters(weights);
  for (const auto &[path, shape] : adapters) {
    std::optional<std::string> name = nameInFiles(path, model);
    std::string down = name ? str(kPrefix, *name, kTheirDown) : "", up = name ? str(kPrefix, *name, kTheirUp) : "";
    if (!name || (!reader.find(down) && !reader.find(up)))
      continue;
    int64_t rank = config.rankOf(*name);
    if (rank > model.adapter.rank)
      return makeError(ErrorKind::InvalidArgument, "'", folder.string(), "' has an adapter of rank ", rank,
                       ", and the artifact holds adapters of rank ", model.adapter.rank,
                       " at most; compile it with --lora rank=", rank, ".");
    auto scale = float(config.scaleOf(*name) / model.adapter.scale());
    LowRank adapter;
    for (auto [theirs, expected, ours, factor] : {std::tuple(down, Shape{rank, shape[0]}, &adapter.down, 1.0f),
                                                  {up, Shape{shape[2], rank}, &adapter.up, scale}}) {
      if (!reader.find(theirs))
        return makeError(ErrorKind::Malformed, "'", reader.path().string(), "' has one half of an adapter and lacks '",
                         theirs, "'; save the adapter again.");
      HEDDLE_ASSIGN(HostTensor tensor, reader.read(theirs));
      if (tensor.type() != ElementType::F32 || !std::ranges::equal(tensor.shape(), expected))
        return makeError(ErrorKind::InvalidArgument, "'", reader.path().string(), "' has '", theirs, "' as ",
                         describe(tensor.type(), tensor.shape()), ", and the model takes ",
                         describe(ElementType::F32, expected), ". The adapter belongs to another model.");
      bool isDown = ours == &adapter.down;
      HEDDLE_ASSIGN(*ours, transpose(tensor, isDown ? shape[0] : shape[1], isDown ? shape[1] : shape[2], factor));
      used.insert(theirs);
    }
    found.emplace(path, std::move(adapter));
  }
  for (const SafetensorsEntry &entry : reader.entries())
    if (!used.contains(entry.name)) {
      std::string names;
      for (const auto &[path, shape] : adapters)
        if (std::string last = path.substr(path.rfind('.') + 1); names.find(last) == std::string::npos)
          names += (names.empty() ? "" : ",") + last;
      return makeError(ErrorKind::InvalidArgument, "'", reader.path().string(), "' has '", entry.name,
                       "', for which the artifact has no adapter; it was compiled with --lora targets=", names,
                       ". Compile it with all targets of the adapter.");
    }
  return found;
}

Status writeAdapter(const fs::path &folder, Engine &engine) {
  HEDDLE_ASSIGN(Description model, Description::parse(engine.description()));
  std::vector<std::string> ours;
  std::vector<SafetensorsEntry> entries;
  Json targets = Json::array();
  for (const auto &[path, shape] : findAdapters(engine.variables())) {
    std::optional<std::string> name = nameInFiles(path, model);
    if (!name)
      return Success();
    ours.insert(ours.end(), {path + std::string(kDown), path + std::string(kUp)});
    entries.push_back({str(kPrefix, *name, kTheirDown), ElementType::F32, {shape[1], shape[0]}});
    entries.push_back({str(kPrefix, *name, kTheirUp), ElementType::F32, {shape[2], shape[1]}});
    if (Json last = name->substr(name->rfind('.') + 1); std::ranges::find(targets, last) == targets.end())
      targets.push_back(last);
  }
  HEDDLE_ASSIGN(SafetensorsWriter writer, SafetensorsWriter::create(folder / kTensorFile, entries, {{"format", "pt"}}));
  for (size_t i = 0; i < ours.size(); ++i) {
    HEDDLE_ASSIGN(HostTensor value, engine.readVariable(ours[i]));
    HEDDLE_ASSIGN(HostTensor stored, transpose(value, entries[i].shape[0], entries[i].shape[1]));
    HEDDLE_CHECK(writer.write(stored.bytes()));
  }
  HEDDLE_CHECK(writer.commit());
  nlohmann::ordered_json config = {{"peft_type", "LORA"},
                                   {"task_type", model.architecture == "decoder" ? Json("CAUSAL_LM") : Json()},
                                   {"base_model_name_or_path", Json()},
                                   {"r", model.adapter.rank},
                                   {"lora_alpha", model.adapter.alpha},
                                   {"lora_dropout", model.adapter.dropout},
                                   {"target_modules", targets},
                                   {"bias", "none"},
                                   {"fan_in_fan_out", false},
                                   {"modules_to_save", Json()},
                                   {"inference_mode", true}};
  return writeFile(folder / kConfigFile, config.dump(2) + "\n");
}

Status loadAdapter(const fs::path &folder, Engine &engine) {
  HEDDLE_ASSIGN(Description model, Description::parse(engine.description()));
  HEDDLE_ASSIGN(LowRanks found, readAdapter(folder, model, engine.variables()));
  HEDDLE_CHECK(clearAdapter(engine));
  for (const auto &[path, adapter] : found)
    HEDDLE_CHECK(write(engine, path, adapter));
  return Success();
}

Status compareDropout(const fs::path &folder, const Engine &engine) {
  HEDDLE_ASSIGN(Config config, readConfig(folder / kConfigFile));
  HEDDLE_ASSIGN(Description model, Description::parse(engine.description()));
  if (config.dropout != model.adapter.dropout)
    log(LogLevel::Warning, str("'", (folder / kConfigFile).string(), "' has lora_dropout = ", config.dropout,
                               ", and training goes on with the artifact's, ", model.adapter.dropout,
                               "; --lora dropout=", config.dropout, " compiles it with the adapter's"));
  return Success();
}

Status clearAdapter(Engine &engine) {
  for (const auto &[path, shape] : findAdapters(engine.variables())) {
    HEDDLE_ASSIGN(LowRank none, zeros(shape));
    HEDDLE_CHECK(write(engine, path, none));
  }
  return Success();
}

} // namespace heddle
