#include "runtime/artifact/Description.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Json.h"
#include "runtime/schema/DescriptionKeys.h"

#include <algorithm>
#include <utility>

namespace heddle {
namespace {

using Json = nlohmann::json;
using schema::KeyType;

constexpr char kNumber = '*'; // in the names of tensors of a stack
constexpr int64_t kMostStacked = 65536;

// Returns a value for a message, unless it is too long: the file decides its length.
std::string shown(const Json &value) {
  constexpr size_t limit = 60;
  std::string text = value.dump();
  return text.size() <= limit ? text : "a long value";
}

template <typename... Parts> Error wrong(const Parts &...parts) {
  return makeError(ErrorKind::Malformed, "its model description ", parts...);
}

Status checkKey(const schema::DescriptionKey &key, const Json &value) {
  auto fail = [&](const auto &...what) -> Status {
    return wrong("has ", key.name, " = ", shown(value), ", and the value of this key is ", what..., ".");
  };
  if (key.type == KeyType::Text)
    return value.is_string() ? Success() : fail("a text");
  if (key.type == KeyType::Flag)
    return value.is_boolean() ? Success() : fail("true or false");
  bool whole = key.type == KeyType::Whole;
  bool fits = whole ? value.is_number_integer() : value.is_number();
  double number = fits ? value.get<double>() : 0;
  return fits && number >= key.range.low && number <= key.range.high
             ? Success()
             : fail(whole ? "a whole number " : "a number ", key.range.text);
}

// Returns a whole number from `low` to the largest extent, or nothing.
std::optional<int64_t> readExtent(const Json &value, int64_t low) {
  if (!value.is_number_integer() || value.get<double>() < double(low) || value.get<double>() > 2147483647.0)
    return std::nullopt;
  return value.get<int64_t>();
}

// Reads {"rows": [64]}, {"pick": [4, 3, 0]} or {"pick": [4, 192, 0, 128]}.
std::optional<ChosenRows> readRows(std::string_view key, const Json &value) {
  bool isPick = key == "pick";
  if (!value.is_array() || (value.size() != (isPick ? 3 : 1) && !(isPick && value.size() == 4)))
    return std::nullopt;
  if (!isPick) {
    std::optional<int64_t> first = readExtent(value[0], 0);
    return first ? std::optional(ChosenRows{.first = *first}) : std::nullopt;
  }
  std::optional<int64_t> groups = readExtent(value[0], 1), of = readExtent(value[1], 1),
                         index = readExtent(value[2], 0), count = value.size() > 3 ? readExtent(value[3], 1) : 1;
  if (!groups || !of || !index || !count || *index + *count > *of)
    return std::nullopt;
  return ChosenRows{.groups = *groups, .of = *of, .index = *index, .count = *count};
}

// {"from": ["blk.0.attn_q.weight"], "rows": [64], "paired": 9, "plus": 1} or {"from": ["blk.0.attn_k_b.weight"], "beside": 16}
std::optional<GgufPlace> readGgufPlace(const Json &json) {
  GgufPlace place;
  if (!json.is_object())
    return std::nullopt;
  for (const auto &[key, value] : json.items()) {
    if (key == "from" && value.is_array() && value.size() == 1 && value[0].is_string()) {
      place.name = value[0].get<std::string>();
    } else if (key == "rows" || key == "pick") {
      if (!(place.rows = readRows(key, value)))
        return std::nullopt;
    } else if (key == "transpose" && value.is_boolean()) {
      place.transpose = value.get<bool>();
    } else if (int64_t *count = key == "paired"     ? &place.pairedHeads
                                : key == "matrices" ? &place.matrices
                                : key == "beside"   ? &place.beside
                                                    : nullptr) {
      std::optional<int64_t> read = readExtent(value, 1);
      if (!read)
        return std::nullopt;
      *count = *read;
    } else if (key == "plus" && value.is_number()) {
      place.added = value.get<double>();
    } else {
      return std::nullopt;
    }
  }
  return place.name.empty() ? std::nullopt : std::optional(std::move(place));
}

// {"from": ["model.shared.weight"], "shape": [512, 64], "transpose": true, "rows": "leading", "skip": 2, "part": [1, 3]}
std::optional<WeightOrigin> readOrigin(const Json &json) {
  constexpr int64_t mostParts = 64;
  WeightOrigin origin;
  if (!json.is_object())
    return std::nullopt;
  for (const auto &[key, value] : json.items()) {
    if (key == "from" && value.is_array()) {
      for (const Json &name : value) {
        if (!name.is_string())
          return std::nullopt;
        origin.names.push_back(name.get<std::string>());
      }
    } else if (key == "shape" && value.is_array()) {
      for (const Json &extent : value) {
        std::optional<int64_t> read = readExtent(extent, 1);
        if (!read)
          return std::nullopt;
        origin.shape.push_back(*read);
      }
    } else if (key == "transpose" && value.is_boolean()) {
      origin.transpose = value.get<bool>();
    } else if (key == "rows" && value == "leading") {
      origin.leadingRows = true;
    } else if (key == "head" && value.is_boolean()) {
      origin.isOfHead = value.get<bool>();
    } else if (key == "flat" && value == "columns") {
      origin.isFlat = true;
    } else if (std::optional<int64_t> skipped = key == "skip" ? readExtent(value, 0) : std::nullopt) {
      origin.skippedRows = *skipped;
    } else if (key == "rows" || key == "pick") {
      if (!(origin.rows = readRows(key, value)))
        return std::nullopt;
    } else if (std::optional<int64_t> count = key == "stack" ? readExtent(value, 1) : std::nullopt) {
      origin.stacked = *count;
    } else if (std::optional<int64_t> count = key == "matrices" ? readExtent(value, 1) : std::nullopt) {
      origin.matrices = *count;
    } else if (key == "gguf") {
      if (!(origin.gguf = readGgufPlace(value)))
        return std::nullopt;
    } else if ((key == "part" || key == "interleaved") && value.is_array() && value.size() == 2) {
      std::optional<int64_t> part = readExtent(value[0], 0), parts = readExtent(value[1], 1);
      if (!part || !parts || *parts > mostParts || *part >= *parts)
        return std::nullopt;
      origin.part = *part;
      origin.parts = *parts;
      origin.isInterleaved = key == "interleaved";
    } else {
      return std::nullopt;
    }
  }
  bool isMatrix = origin.shape.size() == 2;
  if (origin.names.empty() || origin.shape.empty() || origin.shape.size() > 2 ||
      (origin.skippedRows > 0 && !origin.leadingRows) ||
      (origin.isFlat && (isMatrix || origin.leadingRows || origin.rows || origin.parts > 1)))
    return std::nullopt;
  for (const WeightOrigin &stored : {origin, origin.inGguf()}) {
    bool areOfMatrices = !stored.rows || stored.rows->groups == stored.matrices; // the same rows of each matrix
    if (stored.matrices > 1 && (!isMatrix || stored.shape.front() % stored.matrices != 0 || stored.leadingRows ||
                                !areOfMatrices || stored.parts > 1 || (stored.gguf && stored.gguf->pairedHeads > 0)))
      return std::nullopt;
    if (stored.beside > 0 && (!isMatrix || stored.transpose || stored.rows || stored.leadingRows ||
                              stored.shape.back() % stored.beside != 0 || stored.gguf->pairedHeads > 0))
      return std::nullopt;
    if (stored.isInterleaved && (stored.transpose || !isMatrix || stored.leadingRows || stored.rows))
      return std::nullopt;
    // The rows of the stored tensor: the columns of a transposed weight, the elements of a vector.
    int64_t rows = isMatrix && !stored.transpose ? origin.shape.front() : origin.shape.back() * stored.matrices;
    if ((stored.transpose && !isMatrix) ||
        (stored.rows && (stored.leadingRows || stored.parts > 1 || rows % stored.rows->groups != 0 ||
                         rows / stored.rows->groups % stored.rows->count != 0)))
      return std::nullopt;
  }
  auto isNumbered = [](const std::string &name) { return std::ranges::count(name, kNumber) == 1; };
  if (origin.stacked > 0 && (origin.stacked > kMostStacked || !std::ranges::all_of(origin.names, isNumbered)))
    return std::nullopt;
  return origin;
}

Status readTensors(const Json &json, Description &description) {
  if (!json.is_object())
    return wrong("has tensors = ", shown(json), ", and the value of this key is an object of weights.");
  for (const auto &[name, value] : json.items()) {
    std::optional<WeightOrigin> origin = readOrigin(value);
    if (!origin)
      return wrong("says that the weight '", name, "' comes from ", shown(value),
                   ", which names no tensor, shape and part that make sense.");
    description.tensors.emplace(name, std::move(*origin));
  }
  return Success();
}

// "other_end_ids": [128001, 128008]
Status readOtherEnds(const Json &json, Description &description) {
  auto fail = [&] {
    return wrong("has other_end_ids = ", shown(json), ", and the value of this key is a list of tokens.");
  };
  if (!json.is_array())
    return fail();
  for (const Json &value : json) {
    std::optional<int64_t> id = readExtent(value, 0);
    if (!id || (description.vocabularySize && *id >= description.vocabularySize))
      return fail();
    description.otherEnds.push_back(int32_t(*id));
  }
  return Success();
}

// {"rank": 8, "alpha": 16, "dropout": 0.1, "targets": ["query", "value"]}; "dropout" is 0 by default
Status readAdapter(const Json &json, AdapterShape &adapter) {
  auto number = [&](const char *key) {
    return json.is_object() && json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0;
  };
  std::optional<int64_t> rank = json.is_object() && json.contains("rank") ? readExtent(json["rank"], 1) : std::nullopt;
  double dropout = number("dropout");
  bool isRate = !json.is_object() || !json.contains("dropout") || json["dropout"].is_number();
  if (!rank || !(number("alpha") > 0) || !isRate || !(dropout >= 0 && dropout < 1))
    return wrong("has adapter = ", shown(json),
                 ", and the value of this key has a rank and an alpha above 0, and a dropout from 0 to below 1.");
  adapter = {*rank, number("alpha"), dropout};
  return Success();
}

// Returns the smallest maximum of the sizes with these names, or nothing if the artifact has none of them.
std::optional<int64_t> leastMaximum(const schema::Module &module, std::initializer_list<std::string_view> names) {
  std::optional<int64_t> least;
  for (const schema::Size *size : *module.sizes())
    if (std::ranges::find(names, view(size->name())) != names.end())
      least = std::min(least.value_or(size->maximum()), size->maximum());
  return least;
}

Status checkSizes(const Description &description, const schema::Module &module) {
  struct Bound {
    const char *key;
    int64_t value;
    std::initializer_list<std::string_view> sizes;
  };
  // A model of images has a pixel for each source position, so the maximum must be the number of pixels.
  std::optional<int64_t> pixels = leastMaximum(module, {"source_length"});
  int64_t own = description.image.pixels();
  if (own && pixels && *pixels != own)
    return wrong("has images of ", own, " pixels, and the size 'source_length' is ", *pixels, " at most.");
  const Bound bounds[] = {{"max_tokens", description.maximumTokens, {"source_tokens", "target_tokens"}},
                          {"max_sequences", description.maximumSequences, {"sequences"}},
                          {"max_length",
                           description.maximumLength,
                           {"target_length", own ? "cache_length" : "source_length", "cache_length"}},
                          {"beam", description.json.contains("beam") ? description.widestBeam : 0, {"beam"}}};
  for (const Bound &bound : bounds) {
    std::optional<int64_t> maximum = leastMaximum(module, bound.sizes);
    if (maximum && bound.value > *maximum)
      return wrong("has ", bound.key, " = ", bound.value, ", and the size '", *bound.sizes.begin(), "' is ", *maximum,
                   " at most.");
  }
  for (const schema::Entry *entry : *module.entries())
    for (const schema::Port *port : *entry->inputs())
      if (std::string_view name = view(port->name()); name == "cache_rows" || name == "cache_row")
        if (port->value_limit() < description.cacheRows)
          return wrong("has cache_rows = ", description.cacheRows, ", and the caches of entry '", view(entry->name()),
                       "' have ", port->value_limit(), " rows.");
  return Success();
}

// A row of logits has a number for each token of the vocabulary or for each label.
Status checkLogits(const Description &description, const schema::Module &module) {
  int64_t columns = description.classes ? description.classes : description.vocabularySize;
  if (columns == 0)
    return Success();
  for (const schema::Entry *entry : *module.entries())
    for (const schema::Port *port : *entry->outputs()) {
      if (view(port->name()) != "logits")
        continue;
      Shape shape = maximumShape(module, *port->type());
      bool areGrades = (description.architecture == "pair" || description.architecture == "embedder") &&
                       !description.classes && shape.size() == 1;
      if (areGrades) // for each pair
        continue;
      if (shape.empty() || shape.back() != columns)
        return wrong("has ", description.classes ? "classes = " : "vocab_size = ", columns,
                     ", and the logits of entry '", view(entry->name()), "' are ",
                     describe(elementType(*port->type()), shape), ".");
    }
  return Success();
}

Status checkStacks(const Description &description, const schema::Module &module) {
  // The parameters of a .weft text may have these names with another meaning.
  if (description.json.contains("parameters"))
    return Success();
  if (description.width && description.heads && description.width % description.heads != 0)
    return wrong("has heads = ", description.heads, ", which does not divide d_model = ", description.width, ".");
  int64_t layers = description.encoderLayers + description.decoderLayers;
  auto variables = int64_t(module.variables()->size());
  if (layers > variables)
    return wrong("has ", layers, " layers, and the artifact has ", variables, " variables.");
  return Success();
}

Status checkTensors(const Description &description, const schema::Module &module) {
  std::map<std::string_view, const schema::Variable *> variables;
  for (const schema::Variable *variable : *module.variables())
    variables.emplace(view(variable->name()), variable);
  for (const auto &[name, origin] : description.tensors) {
    auto found = variables.find(name);
    if (found == variables.end())
      return wrong("says where the weight '", name, "' comes from, and the artifact has no such variable.");
    const schema::TensorType &type = *found->second->type();
    Shape shape = maximumShape(module, type);
    // A word of a packed weight holds 4, 8 or 16 numbers, or the lower bits of as many. Words may be in panels of columns.
    auto hasWords = [&](int64_t numbers) {
      int64_t panels = origin.shape[1] / shape[1];
      return shape[1] * panels == origin.shape[1] && shape[0] % panels == 0 &&
             shape[0] / panels == (origin.shape[0] + numbers - 1) / numbers;
    };
    if (elementType(type) == ElementType::I32 && shape.size() == 2 && origin.shape.size() == 2 && shape[1] > 0 &&
        shape[1] <= origin.shape[1] && (hasWords(4) || hasWords(8) || hasWords(16)))
      continue;
    if (elementType(type) != ElementType::F32 || shape != origin.shape)
      return wrong("says that the weight '", name, "' is ", describe(ElementType::F32, origin.shape), ", and it is ",
                   describe(elementType(type), shape), ".");
  }
  return Success();
}

} // namespace

std::string nameInStack(std::string name, int64_t index) {
  if (size_t place = name.find(kNumber); place != std::string::npos)
    name.replace(place, 1, std::to_string(index));
  return name;
}

std::vector<std::string> WeightOrigin::namesInStack(int64_t index) const {
  std::vector<std::string> result = names;
  for (std::string &name : result)
    name = nameInStack(std::move(name), index);
  return result;
}

WeightOrigin WeightOrigin::inStack(int64_t index) const {
  WeightOrigin origin = *this;
  origin.names = namesInStack(index);
  origin.shape.front() /= stacked;
  origin.matrices = 1;
  origin.stacked = 0;
  origin.gguf.reset();
  return origin;
}

WeightOrigin WeightOrigin::inGguf() const {
  if (!gguf)
    return *this;
  WeightOrigin origin = *this;
  origin.rows = gguf->rows;
  origin.beside = gguf->beside;
  origin.transpose = (origin.transpose && gguf->beside == 0) || gguf->transpose;
  if (gguf->matrices > 1)
    origin.matrices = gguf->matrices;
  origin.names = {gguf->name};
  origin.part = 0;
  origin.parts = 1;
  origin.isInterleaved = false;
  origin.stacked = 0;
  origin.isFlat = false;
  return origin;
}

Result<Description> Description::parse(std::string_view text) {
  Description result;
  HEDDLE_ASSIGN(result.json, parseJson(text, "its model description"));
  const Json &json = result.json;
  if (!json.is_object())
    return wrong("is not a JSON object.");
  for (const schema::DescriptionKey &key : schema::kDescriptionKeys)
    if (auto found = json.find(key.name); found != json.end())
      HEDDLE_CHECK(checkKey(key, *found));

  auto read = [&](const char *key, auto &value) {
    if (auto found = json.find(key); found != json.end())
      value = found->get<std::remove_reference_t<decltype(value)>>();
  };
  read("vocab_size", result.vocabularySize);
  read("max_tokens", result.maximumTokens);
  read("max_sequences", result.maximumSequences);
  read("max_length", result.maximumLength);
  read("cache_rows", result.cacheRows);
  read("classes", result.classes);
  read("neighbours", result.neighbours);
  read("sentences", result.sentences);
  read("d_model", result.width);
  read("heads", result.heads);
  read("encoder_layers", result.encoderLayers);
  read("decoder_layers", result.decoderLayers);
  read("architecture", result.architecture);
  read("beam", result.widestBeam);
  read("source_end", result.endsSources);
  read("token_types", result.tokenTypes);
  read("loss_scale", result.lossScale);
  for (auto [key, value] :
       {std::pair("bos_id", &result.beginId), {"eos_id", &result.endId}, {"pad_id", &result.paddingId}})
    if (auto found = json.find(key); found != json.end())
      *value = found->get<int64_t>();
  if (json.contains("image_height") || json.contains("image_width")) {
    read("image_height", result.image.height);
    read("image_width", result.image.width);
    read("channels", result.image.channels);
    auto most = int64_t(schema::kExtent.high);
    if (result.image.height == 0 || result.image.width == 0 || result.image.height > most / result.image.width)
      return wrong("has images of ", result.image.height, " x ", result.image.width, " pixels.");
  }
  for (const char *key : {"bos_id", "eos_id", "pad_id", "unk_id"})
    if (auto found = json.find(key);
        found != json.end() && result.vocabularySize && found->get<int64_t>() >= result.vocabularySize)
      return wrong("has ", key, " = ", found->dump(), ", and the vocabulary has ", result.vocabularySize, " tokens.");
  if (auto ends = json.find("other_end_ids"); ends != json.end())
    HEDDLE_CHECK(readOtherEnds(*ends, result));
  if (auto ignored = json.find("ignored_tensors"); ignored != json.end()) {
    if (!ignored->is_array() || !std::ranges::all_of(*ignored, [](const Json &name) { return name.is_string(); }))
      return wrong("has ignored_tensors = ", shown(*ignored), ", and the value of this key is a list of texts.");
    result.ignoredTensors = ignored->get<std::vector<std::string>>();
  }
  if (auto tensors = json.find("tensors"); tensors != json.end())
    HEDDLE_CHECK(readTensors(*tensors, result));
  if (auto adapter = json.find("adapter"); adapter != json.end())
    HEDDLE_CHECK(readAdapter(*adapter, result.adapter));
  return result;
}

Status Description::check(const schema::Module &module) const {
  HEDDLE_CHECK(checkSizes(*this, module));
  HEDDLE_CHECK(checkLogits(*this, module));
  HEDDLE_CHECK(checkStacks(*this, module));
  return checkTensors(*this, module);
}

} // namespace heddle
