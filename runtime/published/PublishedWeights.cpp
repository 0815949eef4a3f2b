#include "runtime/published/PublishedWeights.h"

#include "runtime/artifact/Description.h"
#include "runtime/artifact/Meaning.h"
#include "runtime/core/GgufTypes.h"
#include "runtime/core/Json.h"
#include "runtime/core/Log.h"
#include "runtime/core/PublishedMeaning.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/WeightFiles.h"

#include <algorithm>

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

} // namespace

Result<TensorFiles> TensorFiles::open(const fs::path &folder, const Description &model) {
  TensorFiles tensors;
  tensors.folder = folder;
  if (isGgufFile(folder)) {
    HEDDLE_ASSIGN(tensors.gguf, GgufModel::open(folder, model));
    return tensors;
  }
  std::error_code error;
  if (fs::is_regular_file(folder, error)) {
    HEDDLE_CHECK(tensors.add(folder));
    return tensors;
  }
  HEDDLE_ASSIGN(std::vector<fs::path> paths, findWeightFiles(folder));
  for (const fs::path &path : paths)
    HEDDLE_CHECK(tensors.add(path));
  return tensors;
}

Status TensorFiles::add(const fs::path &file) {
  if (isTorchFile(file) || file.extension() == ".bin") {
    HEDDLE_ASSIGN(TorchReader reader, TorchReader::open(file));
    torchFiles.emplace(file.filename().string(), std::move(reader));
    return Success();
  }
  HEDDLE_ASSIGN(SafetensorsReader reader, SafetensorsReader::open(file, OtherTypes::PassOver));
  files.emplace(file.filename().string(), std::move(reader));
  return Success();
}

bool TensorFiles::has(const WeightOrigin &origin) const {
  auto isIn = [](const auto &readers, const std::string &name) {
    return std::ranges::any_of(readers, [&](const auto &each) { return each.second.find(name) != nullptr; });
  };
  return gguf || std::ranges::any_of(origin.names, [&](const std::string &name) {
           return isIn(files, name) || isIn(torchFiles, name) || Mxfp4Tensor::find(files, name);
         });
}

Result<HostTensor> TensorFiles::read(const std::string &weight, const WeightOrigin &origin) const {
  if (gguf)
    return gguf->read(weight, origin);
  if (origin.stacked == 0)
    return readFirst(weight, origin.names);
  std::vector<HostTensor> parts;
  for (int64_t i = 0; i < origin.stacked; ++i) {
    HEDDLE_ASSIGN(HostTensor part, readFirst(weight, origin.namesInStack(i)));
    if (part.shape().empty() || part.shape() != (parts.empty() ? part : parts.front()).shape())
      return makeError(ErrorKind::InvalidArgument, "'", folder.string(), "' has ", describe(part.type(), part.shape()),
                       " as '", origin.namesInStack(i).front(), "', and the first of these tensors is ",
                       describe(parts.empty() ? part.type() : parts.front().type(),
                                parts.empty() ? part.shape() : parts.front().shape()),
                       ". Its config.json belongs to another model's weights.");
    parts.push_back(std::move(part));
  }
  Shape shape = parts.front().shape();
  shape.front() *= origin.stacked;
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(parts.front().type(), shape));
  std::byte *next = tensor.bytes().data();
  for (const HostTensor &part : parts)
    next = std::ranges::copy(part.bytes(), next).out;
  return tensor;
}

Result<HostTensor> TensorFiles::readFirst(const std::string &weight, const std::vector<std::string> &names) const {
  for (const std::string &name : names)
    for (const auto &[file, reader] : files) {
      if (reader.find(name))
        return reader.read(name);
      if (const OtherTensor *other = reader.passedOver(name))
        return makeError(ErrorKind::Unsupported, "'", reader.path().string(), "' has '", name, "' as ", other->type,
                         ", and Heddle reads weights of F32, F16 and BF16; save the model in one of these types.");
    }
  for (const std::string &name : names)
    if (std::optional<Mxfp4Tensor> packed = Mxfp4Tensor::find(files, name))
      return packed->read();
  for (const std::string &name : names)
    for (const auto &[file, reader] : torchFiles)
      if (const TorchEntry *entry = reader.find(name))
        return reader.read(*entry);
  std::string tried;
  for (const std::string &name : names)
    tried += str(tried.empty() ? "'" : ", '", name, "'");
  std::error_code error;
  if (fs::is_regular_file(folder, error))
    return makeError(ErrorKind::NotFound, "'", folder.string(), "' has no tensor for the weight '", weight,
                     "': it has no tensor called ", tried,
                     ". Name the folder if the model is in several files; else the file is another model's.");
  return makeError(ErrorKind::NotFound, "'", folder.string(), "' has no tensor for the weight '", weight,
                   "': it has no tensor called ", tried, ". Its config.json belongs to another model's weights.");
}

std::optional<Mxfp4Tensor> TensorFiles::findMxfp4(const WeightOrigin &origin) const {
  bool isOneMatrix = origin.shape.size() == 2 && !origin.transpose && !origin.rows && !origin.leadingRows;
  return isOneMatrix && (origin.parts == 1 || origin.isInterleaved) && origin.stacked == 0
             ? Mxfp4Tensor::find(files, origin.names.front())
             : std::nullopt;
}

const PackedFormat *TensorFiles::packedFormat(const WeightOrigin &origin) const {
  if (gguf)
    return origin.parts == 1 ? gguf->packedFormat(origin) : nullptr;
  return findMxfp4(origin) ? findGgufType("MXFP4")->format : nullptr;
}

Result<PackedTensor> TensorFiles::readPacked(WeightOrigin &origin) const {
  if (gguf)
    return gguf->readPacked(origin);
  Mxfp4Tensor tensor = *findMxfp4(origin);
  HEDDLE_ASSIGN(PackedTensor packed, tensor.readPacked());
  origin.transpose = true;
  origin.matrices = packed.numbers.shape().front();
  return packed;
}

namespace {

// A folder has tensors that are no weights of the model: buffers that are recomputed, heads for other tasks, and copies
// of a tied matrix.
bool isBuffer(std::string_view name) {
  constexpr std::string_view endings[] = {".inv_freq",  ".cos_cached",  ".sin_cached",  ".position_ids",
                                          ".attn.bias", ".masked_bias", ".embed_scale", ".embed_positions.weight"};
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}
bool isOfAnotherTask(std::string_view name) {
  constexpr std::string_view parts[] = {"cls.", "pooler.", "bert.pooler.", "classifier.", "qa_outputs.", "score."};
  return std::ranges::any_of(parts, [&](std::string_view part) { return name.starts_with(part); });
}
} // namespace

bool isTiedCopy(std::string_view name) {
  constexpr std::string_view copies[] = {"lm_head.weight",
                                         "model.encoder.embed_tokens.weight",
                                         "model.decoder.embed_tokens.weight",
                                         "encoder.embed_tokens.weight",
                                         "decoder.embed_tokens.weight",
                                         "model.shared.weight",
                                         "shared.weight"};
  return std::ranges::find(copies, name) != std::end(copies);
}

std::vector<std::string> TensorFiles::unused(const Description &model) const {
  std::vector<std::string> result;
  auto isIgnored = [&](std::string_view name) {
    return std::ranges::any_of(model.ignoredTensors, [&](const auto &begin) { return name.starts_with(begin); });
  };
  if (gguf) {
    for (const GgufEntry &entry : gguf->reader().entries())
      if (!entry.name.starts_with("rope_f") && !gguf->placeOf(entry) &&
          !isIgnored(entry.name)) // frequency factors of RoPE
        result.push_back(entry.name);
    return result;
  }
  std::set<std::string> names;
  for (const auto &[weight, origin] : model.tensors)
    for (int64_t i = 0; i < std::max<int64_t>(1, origin.stacked); ++i)
      for (std::string &name : origin.stacked > 0 ? origin.namesInStack(i) : std::vector<std::string>(origin.names))
        names.insert(std::move(name));
  auto add = [&](const std::string &name) {
    if (!names.contains(name) && !isBuffer(name) && !isOfAnotherTask(name) && !isTiedCopy(name) && !isIgnored(name))
      result.push_back(name);
  };
  for (const auto &[file, reader] : files)
    for (const SafetensorsEntry &entry : reader.entries())
      add(entry.name);
  for (const auto &[file, reader] : torchFiles)
    for (const auto &[name, entry] : reader.entries())
      add(name);
  return result;
}

namespace {

// Fails if the files have weights that the model does not use.
Status checkUnused(const fs::path &path, const TensorFiles &files, const Description &model) {
  std::vector<std::string> unused = files.unused(model);
  if (unused.empty())
    return Success();
  constexpr size_t most = 3;
  std::string list;
  for (size_t i = 0; i < std::min(unused.size(), most); ++i)
    list += str(i == 0 ? "'" : ", '", unused[i], "'");
  if (unused.size() > most)
    list += str(" and ", unused.size() - most, " more");
  return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' has weights that the model does not use: ", list,
                   isGgufFile(path) ? ". The artifact was compiled from another model; compile this model."
                                    : ". Its config.json describes another model than the weights (biases need "
                                      "attention_bias or mlp_bias, for example); correct it, and compile the model "
                                      "again.");
}

// Fails if the configuration implies other arithmetic than the model that the artifact was compiled from.
Status checkMeaning(const fs::path &path, const Description &model, OtherMeaning others) {
  auto compiled = model.json.find("published");
  if (compiled == model.json.end() || !compiled->is_object())
    return Success(); // compiled by an earlier version
  std::error_code error;
  bool isFile = fs::is_regular_file(path, error) && !isGgufFile(path);
  fs::path configured = isFile ? path.parent_path() : path;
  if (isFile && !fs::exists(configured / "config.json", error))
    return Success(); // there is no configuration to compare
  HEDDLE_ASSIGN(Json given, readPublishedMeaning(configured));
  Json before = Json::object(), now = Json::object();
  for (const auto &[key, value] : compiled->items())
    if (given.contains(key)) {
      before[key] = given[key];
      now[key] =
          key == "architecture" && value.is_string() ? Json(commonArchitecture(value.get<std::string>())) : value;
    }
  std::vector<std::string> different = meaningDifferences(before, now);
  if (different.empty())
    return Success();
  std::string list;
  for (const std::string &difference : different)
    list += (list.empty() ? "" : ", ") + difference;
  std::string message = str("'", path.string(), "' is another model than the artifact was compiled from: ", list);
  if (others == OtherMeaning::Refuse)
    return makeError(ErrorKind::InvalidArgument, message, ". Compile this model; --force loads it all the same.");
  log(LogLevel::Warning, message);
  return Success();
}

// The shape of a stored tensor as a vector or matrix, like the weight: dimensions before the last are taken together, and
// a vector may have any shape.
Shape flattened(const Shape &stored, const WeightOrigin &origin) {
  bool isVector = origin.shape.size() == 1;
  if (stored.size() < (isVector ? 2 : 3))
    return stored;
  int64_t rows = 1;
  for (int64_t extent : std::span(stored).first(stored.size() - 1))
    rows *= extent;
  return isVector ? Shape{rows * stored.back()} : Shape{rows, stored.back()};
}

// The location of a weight's elements in its tensor.
struct PlacesInTensor {
  size_t rows, columns; // of the weight
  size_t width, first;  // length of the tensor's rows, and where the weight's part of a row begins
  bool transpose;
  size_t run, stride, firstRow; // every `stride` rows, `run` rows from `firstRow` on are the weight's
  size_t matrixRows = 0;        // rows of each of several transposed matrices; 0: there is one
  size_t apart = 1;             // a row's elements are so far apart
  size_t besideColumns = 0;     // columns of each of several matrices that the weight has side by side; 0: there is one

  // The number of rows of the tensor that the weight uses, and the place of one of them.
  size_t usedRows() const { return matrixRows > 0 ? rows / matrixRows * columns : transpose ? columns : rows; }
  size_t storedRow(size_t row) const { return firstRow + row / run * stride + row % run; }
  size_t of(size_t row, size_t column) const {
    if (besideColumns > 0)
      return (column / besideColumns * rows + row) * besideColumns + column % besideColumns;
    if (matrixRows > 0)
      return (storedRow(row / matrixRows * columns + column) * apart + first) * width + row % matrixRows;
    return transpose ? storedRow(column) * width + row : storedRow(row) * width + first + column * apart;
  }

  // Calls `body` with the index of each element in the weight and in the tensor. It goes through squares, so that the
  // cache lines of both are used whole if one of them is transposed.
  template <typename Body> void forEach(Body body) const {
    constexpr size_t side = 32;
    const bool isOne = matrixRows == 0 && besideColumns == 0;
    for (size_t top = 0; top < rows; top += side)
      for (size_t left = 0; left < columns; left += side) {
        const size_t bottom = std::min(top + side, rows), right = std::min(left + side, columns);
        if (isOne && transpose) {
          for (size_t column = left; column < right; ++column)
            for (size_t row = top, place = of(top, column); row < bottom; ++row, ++place)
              body(row * columns + column, place);
        } else if (isOne) {
          for (size_t row = top; row < bottom; ++row)
            for (size_t column = left, place = of(row, left); column < right; ++column, place += apart)
              body(row * columns + column, place);
        } else {
          for (size_t row = top; row < bottom; ++row)
            for (size_t column = left; column < right; ++column)
              body(row * columns + column, of(row, column));
        }
      }
  }
};

// Returns nothing if the tensor does not have the expected shape.
std::optional<PlacesInTensor> placesIn(const HostTensor &tensor, const WeightOrigin &origin) {
  Shape stored = tensor.shape();
  if (origin.isFlat) {
    if (stored.size() != 2 || stored[0] * stored[1] != origin.shape[0] || tensor.type() != ElementType::F32)
      return std::nullopt;
    auto rows = size_t(stored[0]), columns = size_t(stored[1]);
    return PlacesInTensor{columns, rows, columns, 0, /*transpose=*/true, rows, rows, 0};
  }
  // A vector may be a row of a matrix.
  if (stored.size() == 2 && origin.shape.size() == 1 && origin.leadingRows && stored[0] > origin.skippedRows)
    stored.erase(stored.begin());
  else
    stored = flattened(stored, origin);
  Shape expected = origin.shape;
  if (origin.beside > 0) {
    expected = {expected[0] * origin.beside, expected[1] / origin.beside};
    if (stored != expected || tensor.type() != ElementType::F32)
      return std::nullopt;
    auto rows = size_t(origin.shape[0]), columns = size_t(origin.shape[1]);
    return PlacesInTensor{.rows = rows,
                          .columns = columns,
                          .width = size_t(expected[1]),
                          .first = 0,
                          .transpose = false,
                          .run = rows,
                          .stride = rows,
                          .firstRow = 0,
                          .besideColumns = size_t(expected[1])};
  }
  bool hasMatrices = origin.transpose && (origin.matrices > 1 || origin.isInterleaved);
  if (hasMatrices)
    expected = {expected[1] * origin.matrices, expected[0] / origin.matrices};
  else if (origin.transpose)
    std::swap(expected[0], expected[1]);
  (hasMatrices ? expected.front() : expected.back()) *= origin.parts;
  ChosenRows chosen = origin.rows.value_or(ChosenRows());
  int64_t run = expected[0] / chosen.groups, taken = expected[0], part = run / chosen.count;
  expected[0] = expected[0] / chosen.count * chosen.of;
  int64_t before = chosen.first + origin.skippedRows;
  bool isPart = (origin.leadingRows && origin.shape.size() == 2) || (origin.rows && chosen.of == 1);
  if (isPart && stored.size() == expected.size())
    expected[0] = std::max(stored[0], before + taken);
  if (stored != expected || tensor.type() != ElementType::F32)
    return std::nullopt;
  size_t columns = size_t(origin.shape.back()), rows = origin.shape.size() == 2 ? size_t(origin.shape[0]) : 1;
  PlacesInTensor places{.rows = rows,
                        .columns = columns,
                        .width = size_t(stored.back()),
                        .first = size_t(origin.part) * (origin.isInterleaved ? 1 : columns),
                        .transpose = origin.transpose,
                        .run = size_t(run),
                        .stride = size_t(part * chosen.of),
                        .firstRow = size_t(before + chosen.index * part),
                        .matrixRows = hasMatrices ? size_t(stored.back()) : 0,
                        .apart = origin.isInterleaved ? size_t(origin.parts) : 1};
  if (origin.shape.size() == 1 && origin.rows) { // each element of a vector is a row
    std::swap(places.rows, places.columns);
    places.width = 1;
  }
  // A vector has no rows to skip, whatever the origin says.
  if (places.of(places.rows - 1, places.columns - 1) >= tensor.values<float>().size())
    return std::nullopt;
  return places;
}

// Marks the rows of the tensor that the weight uses. Fails if another weight uses one of them.
Status cover(const WeightOrigin &origin, const HostTensor &tensor, std::vector<bool> &taken) {
  PlacesInTensor places = *placesIn(tensor, origin);
  taken.resize(size_t(flattened(tensor.shape(), origin).front()));
  for (size_t row = 0; row < places.usedRows(); ++row) {
    if (taken[places.storedRow(row)])
      return makeError(ErrorKind::InvalidArgument, "row ", places.storedRow(row), " of '", origin.names.front(),
                       "' is part of two weights of the model. The family's text takes it twice.");
    taken[places.storedRow(row)] = true;
  }
  return Success();
}

} // namespace

Result<std::optional<HostTensor>> takeWeight(const HostTensor &tensor, const WeightOrigin &origin) {
  std::optional<PlacesInTensor> places = placesIn(tensor, origin);
  if (!places)
    return std::optional<HostTensor>();
  HEDDLE_ASSIGN(HostTensor weight, HostTensor::uninitialized(ElementType::F32, origin.shape));
  std::span<const float> from = tensor.values<float>();
  std::span<float> to = weight.values<float>();
  places->forEach([&](size_t inWeight, size_t inTensor) { to[inWeight] = from[inTensor]; });
  return std::optional(std::move(weight));
}

// For each tensor that is divided by rows: which rows are used by weights.
using RowsTaken = std::map<std::string, std::vector<bool>>;

static Result<HostTensor> takeCovered(const fs::path &folder, const std::string &name, const WeightOrigin &origin,
                                      const HostTensor &tensor, RowsTaken &taken) {
  HEDDLE_ASSIGN(std::optional<HostTensor> weight, takeWeight(tensor, origin));
  if (!weight)
    return makeError(ErrorKind::InvalidArgument, "'", folder.string(), "' has ",
                     describe(tensor.type(), tensor.shape()), " for the weight '", name, "', which is ",
                     describe(ElementType::F32, origin.shape), origin.transpose ? " transposed" : "",
                     origin.skippedRows > 0 ? str(", after ", origin.skippedRows, " rows") : "",
                     origin.parts > 1 ? str(", part ", origin.part + 1, " of ", origin.parts, " of the columns") : "",
                     ". The artifact was compiled from another model; compile this model.");
  if (origin.rows)
    HEDDLE_CHECK(cover(origin, tensor, taken[origin.names.front()]));
  return std::move(*weight);
}

// Takes a packed weight. Each part has the layout of the weight, with rows shorter by a factor of `group`.
static Result<PackedTensor> takePacked(const fs::path &folder, const TensorFiles &files, const std::string &name,
                                       WeightOrigin origin, RowsTaken &taken) {
  HEDDLE_ASSIGN(PackedTensor packed, files.readPacked(origin));
  HEDDLE_CHECK(packed.forEach([&](HostTensor &part, int64_t group) -> Status {
    WeightOrigin ofPart = origin;
    ofPart.shape[origin.transpose ? 0 : 1] /= group;
    RowsTaken again; // later parts cover the same rows again
    HEDDLE_ASSIGN(part, takeCovered(folder, name, ofPart, part, group == 1 ? taken : again));
    return Success();
  }));
  return packed;
}

bool putWeight(const HostTensor &weight, const WeightOrigin &origin, HostTensor &tensor) {
  std::optional<PlacesInTensor> places = placesIn(tensor, origin);
  if (!places || weight.type() != ElementType::F32 || weight.shape() != origin.shape)
    return false;
  std::span<const float> from = weight.values<float>();
  std::span<float> to = tensor.values<float>();
  places->forEach([&](size_t inWeight, size_t inTensor) { to[inTensor] = from[inWeight]; });
  return true;
}

Result<bool> putInStack(const HostTensor &weight, const WeightOrigin &origin, int64_t index, HostTensor &tensor) {
  Shape shape = tensor.shape();
  if (shape.empty() || tensor.type() != ElementType::F32)
    return false;
  shape.front() *= origin.stacked;
  HEDDLE_ASSIGN(HostTensor whole, HostTensor::uninitialized(ElementType::F32, shape));
  std::span<float> to = tensor.values<float>();
  std::span<float> part = whole.values<float>().subspan(size_t(index) * to.size(), to.size());
  std::ranges::copy(to, part.begin());
  if (!putWeight(weight, origin, whole))
    return false;
  std::ranges::copy(part, to.begin());
  return true;
}

bool isPublishedModel(const fs::path &path) {
  std::error_code error;
  return isGgufFile(path) || (fs::exists(path / "config.json", error) && !fs::exists(path / "manifest.json", error));
}

Status loadPublishedWeights(const fs::path &folder, std::string_view description, const WeightSink &sink,
                            OtherMeaning others) {
  HEDDLE_ASSIGN(Description model, Description::parse(description));
  if (model.tensors.empty())
    return makeError(ErrorKind::InvalidArgument, "'", folder.string(),
                     "' is a published model, and the artifact was "
                     "not compiled from one; use the artifact of `heddle-compile ",
                     folder.string(), "`.");
  HEDDLE_ASSIGN(TensorFiles files, TensorFiles::open(folder, model));
  HEDDLE_CHECK(checkMeaning(folder, model, others));
  HEDDLE_CHECK(checkUnused(folder, files, model));
  RowsTaken taken;
  for (const auto &[name, published] : model.tensors) {
    WeightOrigin origin = files.originOf(published);
    if (origin.isOfHead && sink.lacks && !files.has(origin)) {
      sink.lacks(name);
      continue;
    }
    if (const PackedFormat *format = files.packedFormat(origin);
        format && sink.keeps && sink.keeps(name, *format, origin.shape)) {
      HEDDLE_ASSIGN(PackedTensor packed, takePacked(folder, files, name, origin, taken));
      HEDDLE_CHECK(sink.writePacked(name, std::move(packed)));
      continue;
    }
    HEDDLE_ASSIGN(HostTensor tensor, files.read(name, origin));
    HEDDLE_ASSIGN(HostTensor weight, takeCovered(folder, name, origin, tensor, taken));
    HEDDLE_CHECK(sink.write(name, weight));
  }
  for (const auto &[name, rows] : taken)
    if (size_t row = size_t(std::ranges::find(rows, false) - rows.begin()); row < rows.size())
      return makeError(ErrorKind::InvalidArgument, "'", folder.string(), "' has '", name, "', of which row ", row,
                       " is part of no weight of the model. The family's text takes other rows of it.");
  return Success();
}

} // namespace heddle
