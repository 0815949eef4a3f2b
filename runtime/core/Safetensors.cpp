#include "runtime/core/Safetensors.h"

#include "runtime/core/Json.h"
#include "runtime/core/Narrow.h"
#include "runtime/core/Signature.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "files hold little endian values and are read as they are");

namespace heddle {
namespace {

using Json = nlohmann::json; // sorted keys: insertion stays cheap for hostile headers

// The format allows 100 MB. A hundred thousand tensors fit into 16 MiB, and refusing a bad header of that size is fast.
constexpr uint64_t headerLimit = 16 << 20;
constexpr const char *metadataKey = "__metadata__";

using Stored = SafetensorsEntry::Stored;

// The element types of the format. Heddle does not read types whose `type` is empty.
struct StoredType {
  std::string_view name;
  uint64_t bytes;
  std::optional<ElementType> type;
  Stored stored = Stored::AsIs;
};
constexpr StoredType storedTypes[] = {{"F32", 4, ElementType::F32},
                                      {"I32", 4, ElementType::I32},
                                      {"F16", 2, ElementType::F32, Stored::F16},
                                      {"BF16", 2, ElementType::F32, Stored::BF16},
                                      {"F64", 8, {}},
                                      {"I64", 8, {}},
                                      {"U64", 8, {}},
                                      {"U32", 4, {}},
                                      {"I16", 2, {}},
                                      {"U16", 2, {}},
                                      {"I8", 1, {}},
                                      {"U8", 1, {}},
                                      {"BOOL", 1, {}}};

float widen(Stored stored, uint16_t bits) { return stored == Stored::F16 ? widenF16(bits) : widenBF16(bits); }

// Parses a tensor of the header: {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}. Returns what is wrong with it, or
// nothing. `storage` becomes null if the type is unknown.
std::optional<std::string> parseEntry(const Json &value, uint64_t dataBytes, SafetensorsEntry &entry,
                                      const StoredType *&storage) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
    return "lacks dtype, shape or data_offsets";
  const Json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() || offsets.size() != 2)
    return "has a dtype, shape or data_offsets of the wrong form";

  const std::string &typeName = dtype.get_ref<const std::string &>();
  storage = std::ranges::find(storedTypes, typeName, &StoredType::name);
  if (storage == std::end(storedTypes))
    return str("is of the unknown type ", typeName);

  for (const Json &extent : shape) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      return "has an extent that is not a whole number of at least 0";
    entry.shape.push_back(static_cast<int64_t>(extent.get<uint64_t>()));
  }
  if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    return "has data_offsets that are not whole numbers of at least 0";
  uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > dataBytes)
    return "lies outside the file";
  std::optional<int64_t> count = elementCount(entry.shape);
  if (!count || (end - begin) % storage->bytes || static_cast<uint64_t>(*count) != (end - begin) / storage->bytes)
    return str("has ", end - begin, " bytes, and ", storage->name, " of its shape needs another number");
  entry.type = storage->type.value_or(ElementType::F32);
  entry.stored = storage->stored;
  entry.offset = begin;
  entry.bytes = static_cast<uint64_t>(*count) * kElementBytes;
  return std::nullopt;
}

} // namespace

Result<SafetensorsReader> SafetensorsReader::open(const std::filesystem::path &path, OtherTypes others) {
  HEDDLE_ASSIGN(InputFile input, InputFile::open(path));
  SafetensorsReader reader(std::move(input));
  auto malformed = [&](const auto &...why) {
    return makeError(ErrorKind::Malformed, "'", path.string(), "' is not a usable safetensors file: ", why..., ".");
  };

  uint64_t headerBytes = 0;
  char first = 0; // of the header
  if (reader.file.size() > sizeof headerBytes)
    HEDDLE_CHECK(reader.file.read(sizeof headerBytes, std::as_writable_bytes(std::span(&first, 1))));
  // If the JSON header is there, the file is fine, whatever the bytes of its length look like.
  if (first != '{')
    HEDDLE_CHECK(checkSignature(reader.file));
  if (reader.file.size() < sizeof headerBytes)
    return malformed("it is too short for a header");
  HEDDLE_CHECK(reader.file.read(0, std::as_writable_bytes(std::span(&headerBytes, 1))));
  if (headerBytes > headerLimit)
    return malformed("its header is said to have ", headerBytes, " bytes, and ", headerLimit, " are the most");
  if (headerBytes > reader.file.size() - sizeof headerBytes)
    return malformed("its header is said to have ", headerBytes, " bytes, which the file cannot hold");
  std::string text(headerBytes, '\0');
  HEDDLE_CHECK(reader.file.read(sizeof headerBytes, std::as_writable_bytes(std::span(text))));
  uint64_t dataStart = sizeof headerBytes + headerBytes;
  uint64_t dataBytes = reader.file.size() - dataStart;

  HEDDLE_ASSIGN(Json header, parseJson(text, str("the header of the safetensors file '", path.string(), "'")));
  if (!header.is_object())
    return malformed("its header is not a JSON object");

  struct Range {
    uint64_t begin, bytes;
    const std::string *name;
  };
  std::vector<Range> ranges;
  for (const auto &[name, value] : header.items()) {
    if (name == metadataKey) {
      if (!value.is_object())
        return malformed("its metadata is not an object");
      if (value.contains("dtype") && value.contains("data_offsets") && !value["data_offsets"].is_string())
        return malformed("a tensor is called '", metadataKey, "', by which name the format has metadata");
      for (const auto &[key, item] : value.items()) {
        if (!item.is_string())
          return malformed("its metadata '", key, "' is not a string");
        reader.strings[key] = item.get_ref<const std::string &>();
      }
      continue;
    }
    SafetensorsEntry entry;
    entry.name = name;
    const StoredType *storage = nullptr;
    if (std::optional<std::string> problem = parseEntry(value, dataBytes, entry, storage))
      return malformed("tensor '", name, "' ", *problem);
    ranges.push_back({entry.offset, entry.bytes / kElementBytes * storage->bytes, &name});
    entry.offset += dataStart;
    if (storage->type)
      reader.tensors.push_back(std::move(entry));
    else if (others == OtherTypes::PassOver)
      reader.others[name] = {std::string(storage->name), entry.shape, entry.offset, ranges.back().bytes};
    else
      return malformed("tensor '", name, "' is of type ", storage->name, ", and Heddle takes F32, F16, BF16 and I32");
  }

  std::ranges::stable_sort(reader.tensors, {}, [](const SafetensorsEntry &e) { return std::pair(e.offset, e.bytes); });
  std::ranges::stable_sort(ranges, {}, [](const Range &range) { return std::pair(range.begin, range.bytes); });
  uint64_t covered = 0;
  for (const Range &range : ranges) {
    if (range.begin != covered)
      return malformed("tensor '", *range.name, "' ", range.begin < covered ? "overlaps another" : "follows a gap");
    covered += range.bytes;
  }
  if (covered != dataBytes)
    return malformed(dataBytes - covered, " bytes at its end belong to no tensor");
  for (size_t i = 0; i < reader.tensors.size(); ++i)
    reader.byName[reader.tensors[i].name] = i;
  return reader;
}

const SafetensorsEntry *SafetensorsReader::find(std::string_view name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &tensors[found->second];
}

const OtherTensor *SafetensorsReader::passedOver(std::string_view name) const {
  auto found = others.find(name);
  return found == others.end() ? nullptr : &found->second;
}

Status SafetensorsReader::read(const OtherTensor &tensor, uint64_t offset, std::span<std::byte> into) const {
  assert(offset <= tensor.bytes && into.size() <= tensor.bytes - offset);
  return file.read(tensor.offset + offset, into);
}

Status SafetensorsReader::read(const SafetensorsEntry &entry, uint64_t offset, std::span<std::byte> into) const {
  assert(offset <= entry.bytes && into.size() <= entry.bytes - offset);
  if (entry.stored == Stored::AsIs)
    return file.read(entry.offset + offset, into);
  assert(offset % kElementBytes == 0 && into.size() % kElementBytes == 0);
  // Reads the 16-bit numbers into the second half of `into` and widens them from the front, so that no number is
  // overwritten before it is read.
  std::span<std::byte> narrow = into.last(into.size() / 2);
  HEDDLE_CHECK(file.read(entry.offset + offset / 2, narrow));
  for (size_t i = 0; i < into.size() / kElementBytes; ++i) {
    uint16_t bits;
    std::memcpy(&bits, narrow.data() + i * sizeof bits, sizeof bits);
    float wide = widen(entry.stored, bits);
    std::memcpy(into.data() + i * sizeof wide, &wide, sizeof wide);
  }
  return Success();
}

Result<HostTensor> SafetensorsReader::read(std::string_view name) const {
  const SafetensorsEntry *entry = find(name);
  if (!entry)
    return makeError(ErrorKind::NotFound, "'", path().string(), "' has no tensor '", name, "'.");
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(entry->type, entry->shape));
  HEDDLE_CHECK(read(*entry, 0, tensor.bytes()));
  return tensor;
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path &path,
                                                    std::vector<SafetensorsEntry> entries,
                                                    const SafetensorsMetadata &metadata) {
  Json header = Json::object();
  if (!metadata.empty())
    header[metadataKey] = metadata;
  uint64_t offset = 0;
  for (const SafetensorsEntry &entry : entries) {
    std::optional<int64_t> count = elementCount(entry.shape);
    if (entry.name == metadataKey)
      return makeError(ErrorKind::InvalidArgument, "cannot write '", path.string(), "': no tensor can be called '",
                       metadataKey, "', by which name the format has metadata.");
    if (!count || header.contains(entry.name))
      return makeError(ErrorKind::InvalidArgument, "cannot write '", path.string(), "': tensor '", entry.name, "' ",
                       count ? "occurs twice." : "has an impossible shape.");
    bool isNarrow = entry.stored != Stored::AsIs;
    uint64_t bytes = static_cast<uint64_t>(*count) * (isNarrow ? sizeof(uint16_t) : kElementBytes);
    header[entry.name] = {{"dtype", entry.stored == Stored::BF16     ? "BF16"
                                    : entry.stored == Stored::F16    ? "F16"
                                    : entry.type == ElementType::F32 ? "F32"
                                                                     : "I32"},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' '); // the data starts aligned
  uint64_t length = text.size();

  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(&length, 1))));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(text))));
  return SafetensorsWriter(std::move(file), offset);
}

Status SafetensorsWriter::write(std::span<const std::byte> data) {
  assert(data.size() <= missing && "more bytes than the entries have");
  missing -= data.size();
  return file.write(data);
}

Status SafetensorsWriter::commit() {
  if (missing)
    return makeError(ErrorKind::InvalidArgument, "a safetensors file lacks ", missing, " bytes of its tensors.");
  return file.commit();
}

} // namespace heddle
