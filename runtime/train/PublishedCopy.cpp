#include "runtime/train/PublishedCopy.h"

#include "runtime/core/Json.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/train/CheckpointFolder.h"
#include "runtime/train/FolderSync.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kConfigLimit = 1 << 20;

// Files that have the base's weights, for Heddle or for other programs. A copy has other weights.
constexpr std::string_view kWeightFiles[] = {".safetensors", ".bin",       ".index.json", ".gguf",    ".pt",
                                             ".pth",         ".ckpt",      ".h5",         ".msgpack", ".tflite",
                                             ".onnx",        ".onnx_data", ".ot",         ".npz"};

// Copies the other files of a model, such as tokenizer and settings, but no weights.
Status copyFiles(const fs::path &from, const fs::path &to) {
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(from, error)) {
    fs::path name = entry.path().filename();
    auto endsSo = [file = name.string()](std::string_view end) { return file.ends_with(end); };
    if (!entry.is_regular_file() || std::ranges::any_of(kWeightFiles, endsSo))
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

// The most frequent type of matrices, as `typeOf` returns it.
template <typename TypeOf> uint32_t commonType(const GgufReader &reader, TypeOf typeOf) {
  std::map<uint32_t, size_t> counts;
  for (const GgufEntry &entry : reader.entries())
    if (entry.shape.size() > 1)
      ++counts[typeOf(entry)];
  auto most = std::ranges::max_element(counts, {}, [](const auto &count) { return count.second; });
  return most == counts.end() ? kGgufF32 : most->first;
}

// The number of keys and their bytes: the base's keys, with those that describe tensor types updated if the matrices'
// type changes.
std::pair<uint64_t, std::string> keysOf(const GgufReader &base, uint32_t before, uint32_t now) {
  constexpr const char *fileType = "general.file_type", *version = "general.quantization_version";
  constexpr uint32_t newestVersion = 2;
  std::string bytes;
  uint64_t count = 0;
  bool isSame = before == now && base.value(fileType), hasVersion = false;
  for (const auto &[key, stored] : base.stored()) {
    if (key == fileType && !isSame)
      continue;
    hasVersion |= key == version;
    bytes += stored;
    ++count;
  }
  if (!isSame) {
    bytes += ggufValue(fileType, ggufFileType(now));
    ++count;
  }
  if (findGgufType(now)->values > 1 && !hasVersion) {
    bytes += ggufValue(version, newestVersion);
    ++count;
  }
  return {count, std::move(bytes)};
}

// Copies a GGUF file with its keys. Changed tensors are stored as `kind`, other tensors keep their types.
Status copyGguf(const fs::path &base, const fs::path &output, const Description &description,
                const TensorChanges &changes, const GgufType &kind) {
  HEDDLE_ASSIGN(GgufModel model, GgufModel::open(base, description));
  const GgufReader &reader = model.reader();
  auto changeOf = [&](const GgufEntry &entry) -> const TensorChange * {
    for (const std::string &name : model.namesOf(entry))
      if (auto found = changes.find(name); found != changes.end())
        return &found->second;
    return nullptr;
  };
  auto typeOf = [&](const GgufEntry &entry) -> const GgufType & {
    return changeOf(entry) ? typeOfTensor(kind, entry.shape) : *entry.readType();
  };
  auto bytesOf = [&](const GgufEntry &entry) {
    const GgufType &type = typeOf(entry);
    return uint64_t(*elementCount(entry.shape)) / type.values * type.bytes;
  };
  auto padded = [&](uint64_t bytes) {
    return (bytes + reader.alignment() - 1) / reader.alignment() * reader.alignment();
  };
  for (const GgufEntry &entry : reader.entries())
    if (!entry.readType())
      return makeError(ErrorKind::Unsupported, "'", base.string(), "' has '", entry.name, "' as ",
                       nameOfGgufType(entry.type), ", and Heddle reads ", readGgufTypes(), ".");
  auto [count, keys] = keysOf(reader, commonType(reader, [](const GgufEntry &entry) { return entry.type; }),
                              commonType(reader, [&](const GgufEntry &entry) { return typeOf(entry).number; }));
  std::string header = ggufHeader(reader.entries().size(), count) + keys;
  uint64_t place = 0;
  for (const GgufEntry &entry : reader.entries()) {
    header += ggufTensorInfo(entry.name, entry.shape, typeOf(entry).number, place);
    place += padded(bytesOf(entry));
  }
  header.resize(padded(header.size()), '\0');

  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(output));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(header))));
  for (const GgufEntry &entry : reader.entries()) {
    std::vector<std::byte> bytes;
    if (const TensorChange *change = changeOf(entry)) {
      HEDDLE_ASSIGN(HostTensor tensor, reader.read(entry));
      HEDDLE_CHECK(model.toPublished(entry, tensor));
      HEDDLE_CHECK((*change)(tensor));
      HEDDLE_CHECK(model.toStored(entry, tensor));
      bytes = narrowBlocks(typeOf(entry), tensor.values<float>());
    } else {
      bytes.resize(entry.bytes);
      HEDDLE_CHECK(reader.readStored(entry, 0, bytes));
    }
    bytes.resize(padded(bytes.size()));
    HEDDLE_CHECK(file.write(bytes));
  }
  return file.commit();
}

Status writeFolder(const fs::path &base, const fs::path &folder, const Description &model,
                   const TensorChanges &changes) {
  HEDDLE_ASSIGN(TensorFiles files, TensorFiles::open(base, model));
  if (files.readers().empty())
    return makeError(
        ErrorKind::Unsupported, "'", base.string(),
        "' has its weights in pytorch_model.bin, and Heddle writes a changed copy only of safetensors; save "
        "the model as safetensors once.");
  for (const auto &[weight, origin] : model.tensors)
    for (const std::string &name : origin.names)
      if (Mxfp4Tensor::find(files.readers(), name))
        return makeError(ErrorKind::Unsupported, "'", base.string(), "' has '", name,
                         "' in MXFP4, which Heddle does not write; give a folder that has the model in 32 or 16 bits.");
  auto isRead = [&](const std::string &name) {
    return std::ranges::any_of(model.tensors, [&](const auto &weight) {
      return std::ranges::find(weight.second.names, name) != weight.second.names.end();
    });
  };
  std::vector<std::pair<const SafetensorsReader *, SafetensorsEntry>> kept;
  std::vector<SafetensorsEntry> entries;
  for (const auto &[file, reader] : files.readers())
    for (const SafetensorsEntry &entry : reader.entries())
      // A tied copy that the model does not read would keep the old values.
      if (!isTiedCopy(entry.name) || isRead(entry.name)) {
        kept.emplace_back(&reader, entry);
        entries.push_back({entry.name, entry.type, entry.shape});
      }
  HEDDLE_ASSIGN(SafetensorsWriter writer,
                SafetensorsWriter::create(folder / "model.safetensors", entries, {{"format", "pt"}}));
  for (const auto &[reader, entry] : kept) {
    HEDDLE_ASSIGN(HostTensor tensor, reader->read(entry.name));
    if (auto change = changes.find(entry.name); change != changes.end())
      HEDDLE_CHECK(change->second(tensor));
    HEDDLE_CHECK(writer.write(tensor.bytes()));
  }
  HEDDLE_CHECK(writer.commit());
  HEDDLE_CHECK(copyFiles(base, folder));
  return syncFolder(folder);
}

} // namespace

Status checkPublishedCopy(const fs::path &base, const fs::path &output) {
  if (!isPublishedModel(base))
    return makeError(ErrorKind::InvalidArgument, "'", base.string(),
                     "' is no published model: it is no GGUF file, and no folder with a config.json.");
  return checkOutput(output);
}

Status copyPublished(const fs::path &base, const fs::path &output, const Description &model,
                     const TensorChanges &changes, const GgufType &kind) {
  HEDDLE_CHECK(checkPublishedCopy(base, output));
  if (isGgufFile(base))
    return copyGguf(base, output, model, changes, kind);
  return writeFolderAside(output, [&](const fs::path &folder) { return writeFolder(base, folder, model, changes); });
}

} // namespace heddle
