#include "runtime/published/GgufModel.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace heddle {
namespace {

// Within each head, row i becomes the former row `from(i, height)`.
template <typename From> void moveRows(std::span<float> values, int64_t columns, int64_t heads, From from) {
  auto height = int64_t(values.size()) / columns / heads;
  assert(height * columns * heads == int64_t(values.size()) && height % 2 == 0);
  std::vector<float> head(size_t(height * columns));
  for (int64_t h = 0; h < heads; ++h) {
    std::span<float> place = values.subspan(size_t(h) * head.size(), head.size());
    for (int64_t row = 0; row < height; ++row)
      std::ranges::copy(place.subspan(size_t(from(row, height) * columns), size_t(columns)),
                        head.begin() + row * columns);
    std::ranges::copy(head, place.begin());
  }
}

} // namespace

void splitPairs(std::span<float> values, int64_t columns, int64_t heads) {
  moveRows(values, columns, heads,
           [](int64_t row, int64_t height) { return row % (height / 2) * 2 + row / (height / 2); });
}

void joinPairs(std::span<float> values, int64_t columns, int64_t heads) {
  moveRows(values, columns, heads, [](int64_t row, int64_t height) { return row % 2 * (height / 2) + row / 2; });
}

Result<GgufModel> GgufModel::open(const std::filesystem::path &path, const Description &model) {
  HEDDLE_ASSIGN(GgufReader reader, GgufReader::open(path));
  if (isGgufAdapter(reader))
    return makeError(ErrorKind::InvalidArgument, "'", path.string(),
                     "' is an adapter to a model, and no model; give it by --checkpoint, and the model by --base.");
  GgufModel result(std::move(reader));
  for (const auto &[weight, origin] : model.tensors)
    if (origin.gguf)
      result.origins.emplace(origin.gguf->name, origin);
  if (result.origins.empty())
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' is a GGUF file, and the artifact's model has no GGUF files, or an earlier heddle-compile made "
                     "the artifact; compile the file.");
  return result;
}

const GgufPlace *GgufModel::placeOf(const GgufEntry &entry) const {
  auto found = origins.find(entry.name);
  return found == origins.end() ? nullptr : &*found->second.gguf;
}

std::span<const std::string> GgufModel::namesOf(const GgufEntry &entry) const {
  auto found = origins.find(entry.name);
  return found == origins.end() ? std::span<const std::string>() : found->second.names;
}

Result<HostTensor> GgufModel::read(const std::string &weight, const WeightOrigin &origin) const {
  const GgufEntry *entry = origin.gguf ? file.find(origin.gguf->name) : nullptr;
  if (!entry)
    return makeError(ErrorKind::NotFound, "'", file.path().string(), "' has no tensor for the weight '", weight, "'",
                     origin.gguf ? str(": it has no tensor called '", origin.gguf->name, "'") : "",
                     ". The artifact was compiled from another model; compile this model.");
  if (!entry->readType())
    return makeError(ErrorKind::Unsupported, "'", file.path().string(), "' has '", entry->name, "' as ",
                     nameOfGgufType(entry->type), ", and Heddle reads ", readGgufTypes(),
                     "; take the model's file of one of these types, or convert it.");
  HEDDLE_ASSIGN(HostTensor tensor, file.read(*entry));
  HEDDLE_CHECK(toPublished(*entry, tensor));
  return tensor;
}

const PackedFormat *GgufModel::packedFormat(const WeightOrigin &origin) const {
  const GgufEntry *entry =
      origin.gguf && origin.gguf->added == 0 && origin.gguf->beside == 0 ? file.find(origin.gguf->name) : nullptr;
  const GgufType *type = entry ? entry->readType() : nullptr;
  bool isWhole = type && type->format && entry->shape.size() >= 2 && entry->shape.back() % type->values == 0;
  return isWhole ? type->format : nullptr;
}

Result<PackedTensor> GgufModel::readPacked(const WeightOrigin &origin) const {
  const GgufEntry &entry = *file.find(origin.gguf->name);
  HEDDLE_ASSIGN(PackedTensor packed, file.readPacked(entry));
  HEDDLE_CHECK(packed.forEach([&](HostTensor &part, int64_t) { return toPublished(entry, part); }));
  return packed;
}

Status GgufModel::convert(const GgufEntry &entry, HostTensor &tensor, bool stores) const {
  const GgufPlace *place = placeOf(entry);
  if (!place)
    return Success();
  std::span<float> values = tensor.values<float>();
  if (place->added != 0)
    for (float &value : values)
      value += float(stores ? place->added : -place->added);
  if (place->pairedHeads == 0 || values.empty())
    return Success();
  int64_t count = place->pairedHeads, rows = tensor.shape().empty() ? 1 : tensor.shape().front();
  if (count > rows || rows % (2 * count) != 0)
    return makeError(ErrorKind::Malformed, "'", file.path().string(), "' has '", entry.name, "' as ",
                     describe(tensor.type(), tensor.shape()), ", which is not made of ", count,
                     " heads of pairs. The artifact was compiled from another model; compile this model.");
  auto columns = int64_t(values.size()) / rows;
  if (stores)
    joinPairs(values, columns, count);
  else
    splitPairs(values, columns, count);
  return Success();
}

} // namespace heddle
