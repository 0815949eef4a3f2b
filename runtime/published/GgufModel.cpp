#include "runtime/published/GgufModel.h"

namespace heddle {

Result<GgufModel> GgufModel::open(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(GgufReader reader, GgufReader::open(path));
  GgufModel model(std::move(reader));
  const GgufValue *name = model.file.value("general.architecture");
  model.architecture = name && name->text() ? *name->text() : "";
  if (!isGgufArchitecture(model.architecture)) {
    std::string all;
    for (std::string_view known : ggufArchitectures())
      all += str(all.empty() ? "" : ", ", known);
    return makeError(ErrorKind::Unsupported, "'", path.string(), "' is of the architecture \"", model.architecture,
                     "\", and Heddle reads GGUF files of ", all, ".");
  }
  auto number = [&](const char *key, uint64_t otherwise) {
    const GgufValue *value = model.file.value(str(model.architecture, ".attention.", key));
    return value ? value->whole().value_or(0) : otherwise;
  };
  model.heads = number("head_count", 0);
  model.keyHeads = number("head_count_kv", model.heads);
  return model;
}

Result<HostTensor> GgufModel::read(const std::string &weight, const std::vector<std::string> &names) const {
  std::string tried;
  for (const std::string &name : names) {
    std::optional<std::string> theirs = ggufTensorName(architecture, name);
    const GgufEntry *entry = theirs ? file.find(*theirs) : nullptr;
    if (!entry) {
      if (theirs)
        tried += str(tried.empty() ? "'" : ", '", *theirs, "'");
      continue;
    }
    if (!entry->readType())
      return makeError(ErrorKind::Unsupported, "'", file.path().string(), "' has '", entry->name, "' as ",
                       nameOfGgufType(entry->type), ", and Heddle reads ", readGgufTypes(),
                       "; take the model's file of one of these types, or convert it.");
    HEDDLE_ASSIGN(HostTensor tensor, file.read(*entry));
    HEDDLE_CHECK(toPublished(*entry, tensor));
    return tensor;
  }
  return makeError(ErrorKind::NotFound, "'", file.path().string(), "' has no tensor for the weight '", weight, "'",
                   tried.empty() ? "" : str(": it has no tensor called ", tried),
                   ". The artifact was compiled from another model; compile this model.");
}

Status GgufModel::convert(const GgufEntry &entry, HostTensor &tensor, bool stores) const {
  std::optional<GgufTensor> known = published(entry);
  if (!known)
    return Success();
  std::span<float> values = tensor.values<float>();
  for (float &value : values)
    value += stores ? known->storage.added : -known->storage.added;
  using Rows = GgufStorage::Rows;
  if (known->storage.rows == Rows::AsPublished || values.empty())
    return Success();
  uint64_t count = known->storage.rows == Rows::QueryPairs ? heads : keyHeads;
  int64_t rows = tensor.shape().empty() ? 1 : tensor.shape().front();
  if (count == 0 || count > uint64_t(rows) || rows % int64_t(2 * count) != 0)
    return makeError(ErrorKind::Malformed, "'", file.path().string(), "' has '", entry.name, "' as ",
                     describe(tensor.type(), tensor.shape()), ", which is not made of ", count,
                     " heads of pairs, as its keys say; download or convert it again.");
  auto columns = int64_t(values.size()) / rows;
  if (stores)
    joinPairs(values, columns, int64_t(count));
  else
    splitPairs(values, columns, int64_t(count));
  return Success();
}

} // namespace heddle
