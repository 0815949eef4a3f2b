#include "runtime/train/Merge.h"

#include "runtime/core/Json.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/Adapter.h"
#include "runtime/train/Checkpoint.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/FolderSync.h"

#include <set>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kConfigLimit = 1 << 20;

Result<LowRanks> readAny(const fs::path &folder, const Description &model, std::span<const VariableInfo> variables) {
  if (isAdapterFolder(folder))
    return readAdapter(folder, model, variables);
  // A checkpoint has the files that PEFT reads beside its own.
  HEDDLE_ASSIGN(fs::path checkpoint, findCheckpoint(folder));
  return readAdapter(checkpoint, model, variables);
}

// Adds scale * down * up to the tensor, which is stored as the origin says.
void add(const LowRank &adapter, double scale, bool transposed, std::span<float> tensor) {
  int64_t inputs = adapter.down.shape()[0], rank = adapter.down.shape()[1], outputs = adapter.up.shape()[1];
  std::span<const float> down = adapter.down.values<float>(), up = adapter.up.values<float>();
  for (int64_t i = 0; i < inputs; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = 0;
      for (int64_t r = 0; r < rank; ++r)
        sum += double(down[size_t(i * rank + r)]) * double(up[size_t(r * outputs + o)]);
      float &value = tensor[size_t(transposed ? o * inputs + i : i * outputs + o)];
      value = float(double(value) + scale * sum);
    }
}

// The other files of a model: its tokenizer and settings, but no weights.
Status copyFiles(const fs::path &from, const fs::path &to) {
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(from, error)) {
    fs::path name = entry.path().filename();
    if (!entry.is_regular_file() || name.extension() == ".safetensors" || name.extension() == ".bin" ||
        name.string().ends_with(".index.json"))
      continue;
    if (name == "config.json") {
      HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(entry.path(), kConfigLimit));
      std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
      HEDDLE_ASSIGN(nlohmann::json config, parseJson(text, str("'", entry.path().string(), "'")));
      for (const char *key : {"torch_dtype", "dtype"})
        if (config.is_object() && config.contains(key))
          config[key] = "float32";
      HEDDLE_CHECK(writeFile(to / name, config.dump(2) + "\n"));
    } else if (!fs::copy_file(entry.path(), to / name, error)) {
      return systemError("cannot copy", entry.path(), error);
    }
  }
  return error ? systemError("cannot read the folder", from, error) : Status(Success());
}

struct Change {
  const LowRank *adapter;
  bool transposed;
};
using Changes = std::map<std::string, Change>; // by the tensor's name in the published model

Status apply(const Change &change, double scale, const fs::path &path, const std::string &name, HostTensor &tensor) {
  const LowRank &adapter = *change.adapter;
  if (tensor.type() != ElementType::F32 ||
      tensor.bytes().size() / sizeof(float) != size_t(adapter.down.shape()[0] * adapter.up.shape()[1]))
    return makeError(ErrorKind::InvalidArgument, "'", path.string(), "' has '", name, "' as ",
                     describe(tensor.type(), tensor.shape()), ", which the adapter does not fit.");
  add(adapter, scale, change.transposed, tensor.values<float>());
  return Success();
}

// A file with the keys of the base. Tensors that change become f32, the others stay as they are stored.
Status mergeGguf(const fs::path &base, const fs::path &output, const Changes &changes, double scale) {
  HEDDLE_ASSIGN(GgufModel model, GgufModel::open(base));
  const GgufReader &reader = model.reader();
  auto changeOf = [&](const GgufEntry &entry) -> const Change * {
    std::optional<GgufTensor> published = model.published(entry);
    auto found = published ? changes.find(published->name) : changes.end();
    return found == changes.end() ? nullptr : &found->second;
  };
  auto padded = [&](uint64_t bytes) {
    return (bytes + reader.alignment() - 1) / reader.alignment() * reader.alignment();
  };
  std::string header = ggufHeader(reader.entries().size(), reader.countValues("")) + reader.storedValues("");
  uint64_t place = 0;
  for (const GgufEntry &entry : reader.entries()) {
    if (!entry.readType())
      return makeError(ErrorKind::Unsupported, "'", base.string(), "' has '", entry.name, "' as ",
                       nameOfGgufType(entry.type), ", and Heddle reads ", readGgufTypes(), ".");
    bool changed = changeOf(entry);
    header += ggufTensorInfo(entry.name, entry.shape, changed ? kGgufF32 : entry.type, place);
    place += padded(changed ? uint64_t(*elementCount(entry.shape)) * sizeof(float) : entry.bytes);
  }
  header.resize(padded(header.size()), '\0');

  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(output));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(header))));
  for (const GgufEntry &entry : reader.entries()) {
    std::vector<std::byte> bytes;
    if (const Change *change = changeOf(entry)) {
      HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry));
      HEDDLE_CHECK(model.toPublished(entry, tensor));
      HEDDLE_CHECK(apply(*change, scale, base, entry.name, tensor));
      HEDDLE_CHECK(model.toStored(entry, tensor));
      bytes.assign(tensor.bytes().begin(), tensor.bytes().end());
    } else {
      bytes.resize(entry.bytes);
      HEDDLE_CHECK(reader.readStored(entry, 0, bytes));
    }
    bytes.resize(padded(bytes.size()));
    HEDDLE_CHECK(file.write(bytes));
  }
  return file.commit();
}

} // namespace

Status mergeAdapter(const fs::path &base, const fs::path &checkpoint, const fs::path &output, const Description &model,
                    std::span<const VariableInfo> variables) {
  if (!isPublishedModel(base))
    return makeError(ErrorKind::InvalidArgument, "'", base.string(),
                     "' is no published model: it is no GGUF file, and no folder with a config.json.");
  std::error_code error;
  if (fs::exists(output, error))
    return makeError(ErrorKind::InvalidArgument, "'", output.string(), "' exists; name a ",
                     isGgufFile(base) ? "file" : "folder", " that is to be made.");
  HEDDLE_ASSIGN(LowRanks adapters, readAny(checkpoint, model, variables));
  Changes changes;
  for (const auto &[path, adapter] : adapters) {
    const WeightOrigin &origin = model.tensors.find(path + ".weight")->second;
    for (const std::string &name : origin.names)
      changes[name] = {&adapter, origin.transpose};
  }
  if (isGgufFile(base))
    return mergeGguf(base, output, changes, model.adapter.scale());
  HEDDLE_ASSIGN(TensorFiles files, TensorFiles::open(base));
  std::vector<SafetensorsEntry> entries;
  for (const auto &[file, reader] : files.readers())
    for (const SafetensorsEntry &entry : reader.entries())
      entries.push_back({entry.name, entry.type, entry.shape});

  fs::path temporary = output;
  temporary += ".tmp";
  fs::remove_all(temporary, error);
  fs::create_directories(temporary, error);
  if (error)
    return systemError("cannot create the folder", temporary, error);
  auto write = [&]() -> Status {
    HEDDLE_ASSIGN(SafetensorsWriter writer,
                  SafetensorsWriter::create(temporary / "model.safetensors", entries, {{"format", "pt"}}));
    for (const auto &[file, reader] : files.readers())
      for (const SafetensorsEntry &entry : reader.entries()) {
        HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry.name));
        if (auto change = changes.find(entry.name); change != changes.end())
          HEDDLE_CHECK(apply(change->second, model.adapter.scale(), reader.path(), entry.name, tensor));
        HEDDLE_CHECK(writer.write(tensor.bytes()));
      }
    HEDDLE_CHECK(writer.commit());
    HEDDLE_CHECK(copyFiles(base, temporary));
    HEDDLE_CHECK(syncFolder(temporary));
    fs::rename(temporary, output, error);
    return error ? systemError("cannot put the folder into place at", output, error) : Status(Success());
  };
  Status status = write();
  if (!status.ok())
    fs::remove_all(temporary, error);
  return status;
}

} // namespace heddle
