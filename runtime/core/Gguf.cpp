#include "runtime/core/Gguf.h"

#include "runtime/core/Signature.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "files hold little endian values and are read as they are");

namespace heddle {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint32_t kNewest = 3;

// Limits of the part before the tensors. Today's largest vocabularies take a tenth of kHeaderLimit.
constexpr uint64_t kHeaderLimit = 256ull << 20, kMostElements = 1 << 23, kMostTensors = 1 << 17, kMostKeys = 1 << 16;
constexpr uint64_t kMostName = 1 << 16, kMostAlignment = 1 << 20;
constexpr int kDeepest = 4; // nesting of arrays
constexpr uint32_t kMostDimensions = 4;

template <typename T> void appendBytes(std::string &to, T value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

// Returns the shortest decimal that rounds to this f32: 1e-5 instead of 9.9999997e-06.
double decimalOf(float value) {
  char text[64];
  double result = value;
  if (auto [end, error] = std::to_chars(text, text + sizeof text, value); error == std::errc())
    std::from_chars(text, end, result);
  return result;
}

constexpr std::string_view kSplitCount = "split.count", kSplitNumber = "split.no",
                           kSplitTensors = "split.tensors.count";

// Returns the end of a part's file name: "-00002-of-00003.gguf" for part 1.
std::string partEnding(uint64_t part, uint64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(part) + 1,
                static_cast<unsigned long long>(count));
  return text;
}

} // namespace

// Reads the part of a file before the tensors, a piece at a time.
class GgufParser {
public:
  GgufParser(GgufReader &reader, std::string_view bytes, uint64_t size) : reader(reader), buffer(bytes), size(size) {}

  Status parse();

private:
  template <typename... Why> Error malformed(const Why &...why) const {
    return makeError(ErrorKind::Malformed, "'", reader.name.string(), "' is not a usable GGUF file: ", why...,
                     "; download or convert it again.");
  }

  // Makes sure that the next `count` bytes are in `buffer`, from `place - start` on.
  Status need(uint64_t count, std::string_view what);
  Result<std::string_view> take(uint64_t count, std::string_view what) {
    HEDDLE_CHECK(need(count, what));
    place += count;
    return buffer.substr(place - count - start, count);
  }
  template <typename T> Status number(T &value, std::string_view what) {
    HEDDLE_ASSIGN(std::string_view bytes, take(sizeof value, what));
    std::memcpy(&value, bytes.data(), sizeof value);
    return Success();
  }
  template <typename T, typename Kept> Status numberOf(GgufValue &value) {
    T read;
    HEDDLE_CHECK(number(read, "a value"));
    value.value = Kept(read);
    return Success();
  }
  Status text(std::string &value, uint64_t limit, std::string_view what);
  Status value(uint32_t type, GgufValue &value, const std::string &key, int depth);
  Status array(GgufValue &value, const std::string &key, int depth);
  Status readKeys(uint64_t count);
  Status readTensors(uint64_t count);
  Status readTensor(GgufEntry &entry);
  Status checkPlaces();

  GgufReader &reader;
  std::string held;
  std::string_view buffer; // the file's bytes from `start` on
  uint64_t start = 0, place = 0, size;
  uint64_t elements = 0; // of all arrays
  std::string raw;       // the bytes of the current key and its value
  bool keepsRaw = false;
};

Status GgufParser::need(uint64_t count, std::string_view what) {
  if (count > size - place)
    return malformed("it ends within ", what, ", at byte ", size);
  if (place + count > kHeaderLimit)
    return malformed("more than ", kHeaderLimit, " bytes stand before its tensors");
  if (place + count > start + buffer.size()) {
    constexpr uint64_t kPiece = 1 << 20;
    std::string next(std::min(std::max(count, kPiece), size - place), '\0');
    HEDDLE_CHECK(reader.files.front().read(place, std::as_writable_bytes(std::span(next))));
    held = std::move(next);
    buffer = held;
    start = place;
  }
  if (keepsRaw)
    raw.append(buffer.substr(place - start, count));
  return Success();
}

Status GgufParser::text(std::string &value, uint64_t limit, std::string_view what) {
  uint64_t length = 0;
  HEDDLE_CHECK(number(length, what));
  if (length > limit)
    return malformed(what, " is said to have ", length, " bytes, and ", limit, " are the most");
  HEDDLE_ASSIGN(std::string_view bytes, take(length, what));
  value = bytes;
  return Success();
}

Status GgufParser::array(GgufValue &value, const std::string &key, int depth) {
  uint32_t type = 0;
  uint64_t count = 0;
  HEDDLE_CHECK(number(type, "a value"));
  HEDDLE_CHECK(number(count, "a value"));
  if (depth == kDeepest)
    return malformed("the value of '", key, "' has arrays within arrays, more than ", kDeepest, " deep");
  // An element takes at least a byte, so this refuses counts that the file cannot hold before memory is allocated.
  if (count > size - place || count > kMostElements - elements)
    return malformed("the value of '", key, "' is said to have ", count, " elements, which is more than a file of ",
                     size, " bytes or Heddle holds");
  elements += count;
  GgufValue::Array array(count);
  for (GgufValue &element : array)
    HEDDLE_CHECK(this->value(type, element, key, depth + 1));
  value.value = std::move(array);
  return Success();
}

Status GgufParser::value(uint32_t type, GgufValue &value, const std::string &key, int depth) {
  switch (type) {
  case 0:
    return numberOf<uint8_t, uint64_t>(value);
  case 1:
    return numberOf<int8_t, int64_t>(value);
  case 2:
    return numberOf<uint16_t, uint64_t>(value);
  case 3:
    return numberOf<int16_t, int64_t>(value);
  case 4:
    return numberOf<uint32_t, uint64_t>(value);
  case 5:
    return numberOf<int32_t, int64_t>(value);
  case 6: {
    float read;
    HEDDLE_CHECK(number(read, "a value"));
    value.value = decimalOf(read);
    return Success();
  }
  case 7: {
    uint8_t read;
    HEDDLE_CHECK(number(read, "a value"));
    if (read > 1)
      return malformed("the value of '", key, "' is ", unsigned(read), ", and should be true (1) or false (0)");
    value.value = read == 1;
    return Success();
  }
  case 8:
    return text(value.value.emplace<std::string>(), kHeaderLimit, str("the value of '", key, "'"));
  case 9:
    return array(value, key, depth);
  case 10:
    return numberOf<uint64_t, uint64_t>(value);
  case 11:
    return numberOf<int64_t, int64_t>(value);
  case 12:
    return numberOf<double, double>(value);
  }
  return malformed("the value of '", key, "' is of the unknown type ", type);
}

Status GgufParser::readKeys(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    raw.clear();
    keepsRaw = true;
    std::string key;
    uint32_t type = 0;
    HEDDLE_CHECK(text(key, kMostName, "a key"));
    HEDDLE_CHECK(number(type, "a value"));
    GgufValue value;
    HEDDLE_CHECK(this->value(type, value, key, 0));
    if (!reader.keys.emplace(key, std::move(value)).second)
      return malformed("it has the key '", key, "' twice");
    keepsRaw = false;
    reader.inOrder.emplace_back(std::move(key), raw);
  }
  return Success();
}

Status GgufParser::readTensor(GgufEntry &entry) {
  uint32_t dimensions = 0;
  HEDDLE_CHECK(text(entry.name, kMostName, "a tensor's name"));
  HEDDLE_CHECK(number(dimensions, "a tensor's shape"));
  if (dimensions > kMostDimensions)
    return malformed("the tensor '", entry.name, "' has ", dimensions, " dimensions, and ", kMostDimensions,
                     " are the most");
  entry.shape.resize(dimensions);
  for (int64_t &extent : entry.shape) {
    HEDDLE_CHECK(number(extent, "a tensor's shape"));
    if (extent < 1)
      return malformed("the tensor '", entry.name, "' has an extent that is not from 1 to 2^63 - 1");
  }
  std::ranges::reverse(entry.shape);
  HEDDLE_CHECK(number(entry.type, "a tensor's type"));
  HEDDLE_CHECK(number(entry.offset, "a tensor's place"));
  std::optional<int64_t> count = elementCount(entry.shape);
  if (!count)
    return malformed("the tensor '", entry.name, "' has more elements than memory can have");
  const GgufType *type = entry.readType();
  if (!type)
    return Success();
  int64_t row = entry.shape.empty() ? 1 : entry.shape.back();
  if (row % type->values != 0)
    return malformed("the tensor '", entry.name, "' has rows of ", row, " numbers, and ", type->name, " has blocks of ",
                     type->values);
  entry.bytes = uint64_t(*count) / type->values * type->bytes;
  return Success();
}

Status GgufParser::readTensors(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    GgufEntry entry;
    HEDDLE_CHECK(readTensor(entry));
    if (!reader.byName.emplace(entry.name, reader.tensors.size()).second)
      return malformed("it has the tensor '", entry.name, "' twice");
    reader.tensors.push_back(std::move(entry));
  }
  return Success();
}

// Checks the tensors' offsets, which count from the first tensor, and makes them offsets in the file.
Status GgufParser::checkPlaces() {
  if (reader.tensors.empty())
    return Success();
  uint64_t data = (place + reader.unit - 1) / reader.unit * reader.unit;
  std::vector<const GgufEntry *> ordered;
  for (GgufEntry &entry : reader.tensors) {
    if (entry.offset % reader.unit != 0)
      return malformed("the tensor '", entry.name, "' begins at ", entry.offset, ", which is no multiple of ",
                       reader.unit);
    if (data > size || entry.offset > size - data || entry.bytes > size - data - entry.offset)
      return malformed("the tensor '", entry.name, "' lies outside the file, which has ", size, " bytes");
    entry.offset += data;
    if (entry.bytes != 0)
      ordered.push_back(&entry);
  }
  std::ranges::sort(ordered, {}, &GgufEntry::offset);
  for (size_t i = 1; i < ordered.size(); ++i)
    if (ordered[i]->offset - ordered[i - 1]->offset < ordered[i - 1]->bytes)
      return malformed("the tensors '", ordered[i - 1]->name, "' and '", ordered[i]->name, "' overlap");
  return Success();
}

Status GgufParser::parse() {
  HEDDLE_ASSIGN(std::string_view magic, take(kMagic.size(), "its first bytes"));
  if (magic != kMagic)
    return malformed("it does not begin with \"GGUF\"");
  uint32_t version = 0;
  HEDDLE_CHECK(number(version, "its version"));
  if (version < 2 || version > kNewest)
    return makeError(ErrorKind::Unsupported, "'", reader.name.string(), "' is a GGUF file of ",
                     version % 65536 == 0 && version != 0 ? std::string("big endian numbers")
                                                          : str("version ", version),
                     ", and Heddle reads versions 2 and 3 with little endian numbers; convert the model anew.");
  uint64_t tensors = 0, keys = 0;
  HEDDLE_CHECK(number(tensors, "its counts"));
  HEDDLE_CHECK(number(keys, "its counts"));
  if (tensors > kMostTensors || keys > kMostKeys)
    return malformed("it is said to have ", tensors, " tensors and ", keys, " keys, and ", kMostTensors, " and ",
                     kMostKeys, " are the most");
  HEDDLE_CHECK(readKeys(keys));
  if (const GgufValue *given = reader.value("general.alignment")) {
    std::optional<uint64_t> whole = given->whole();
    if (!whole || !std::has_single_bit(*whole) || *whole > kMostAlignment)
      return malformed("'general.alignment' is not a power of two up to ", kMostAlignment);
    reader.unit = *whole;
  }
  HEDDLE_CHECK(readTensors(tensors));
  return checkPlaces();
}

//===-- Values and tensors --------------------------------------------------------------------------------------===//

std::optional<uint64_t> GgufValue::whole() const {
  if (const auto *number = std::get_if<uint64_t>(&value))
    return *number;
  if (const auto *number = std::get_if<int64_t>(&value); number && *number >= 0)
    return uint64_t(*number);
  return std::nullopt;
}

std::optional<double> GgufValue::number() const {
  if (const auto *number = std::get_if<double>(&value))
    return *number;
  if (const auto *number = std::get_if<int64_t>(&value))
    return double(*number);
  if (const auto *number = std::get_if<uint64_t>(&value))
    return double(*number);
  return std::nullopt;
}

std::optional<bool> GgufValue::flag() const {
  const auto *flag = std::get_if<bool>(&value);
  return flag ? std::optional(*flag) : std::nullopt;
}

const GgufType *GgufEntry::readType() const {
  const GgufType *known = findGgufType(type);
  return known && known->isRead() ? known : nullptr;
}

// Opens a single file, even if it is a part of a split model.
Result<GgufReader> GgufReader::openPart(const std::filesystem::path &path) {
  GgufReader reader;
  reader.name = path;
  HEDDLE_ASSIGN(InputFile input, InputFile::open(path));
  uint64_t size = input.size();
  HEDDLE_CHECK(checkSignature(input));
  reader.files.push_back(std::move(input));
  HEDDLE_CHECK(GgufParser(reader, {}, size).parse());
  return reader;
}

Result<GgufReader> GgufReader::open(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(GgufReader reader, openPart(path));
  HEDDLE_CHECK(reader.openParts());
  return reader;
}

Status GgufReader::openParts() {
  auto whole = [](const GgufReader &part, std::string_view key) -> uint64_t {
    const GgufValue *found = part.value(key);
    return found ? found->whole().value_or(0) : 0;
  };
  const uint64_t count = whole(*this, kSplitCount), number = whole(*this, kSplitNumber);
  if (count > 1) {
    std::string file = name.filename().string(), ending = partEnding(number, count);
    if (number >= count || !file.ends_with(ending))
      return makeError(ErrorKind::Malformed, "'", name.string(), "' is part ", number + 1, " of a model in ", count,
                       " files, and its name does not end with '", ending,
                       "', by which the others are found; give it the name that it was published with.");
    auto pathOf = [&](uint64_t part) {
      return name.parent_path() / (file.substr(0, file.size() - ending.size()) + partEnding(part, count));
    };
    if (number != 0)
      return makeError(ErrorKind::InvalidArgument, "'", name.string(), "' is part ", number + 1,
                       " of a model in several files; name the first, '", pathOf(0).string(), "'.");
    for (uint64_t i = 1; i < count; ++i) {
      HEDDLE_ASSIGN(GgufReader part, openPart(pathOf(i)));
      if (whole(part, kSplitCount) != count || whole(part, kSplitNumber) != i)
        return makeError(ErrorKind::Malformed, "'", part.name.string(), "' is not part ", i + 1, " of ", count,
                         ", as its name says; download it again.");
      for (GgufEntry &entry : part.tensors) {
        entry.part = size_t(i);
        if (!byName.emplace(entry.name, tensors.size()).second)
          return makeError(ErrorKind::Malformed, "'", part.name.string(), "' has the tensor '", entry.name,
                           "', which another part of the model has too; download it again.");
        tensors.push_back(std::move(entry));
      }
      files.push_back(std::move(part.files.front()));
    }
    if (const GgufValue *all = value(kSplitTensors); all && all->whole() != tensors.size())
      return makeError(ErrorKind::Malformed, "'", name.string(), "' and its other parts have ", tensors.size(),
                       " tensors, and their number should be ", all->whole().value_or(0), "; download them again.");
  }
  for (std::string_view key : {kSplitCount, kSplitNumber, kSplitTensors})
    keys.erase(std::string(key));
  std::erase_if(inOrder, [](const auto &key) { return key.first.starts_with("split."); });
  return Success();
}

Result<GgufReader> GgufReader::parse(std::string_view bytes, const std::string &name) {
  GgufReader reader;
  reader.name = name;
  HEDDLE_CHECK(GgufParser(reader, bytes, bytes.size()).parse());
  return reader;
}

const GgufEntry *GgufReader::find(std::string_view tensor) const {
  auto found = byName.find(tensor);
  return found == byName.end() ? nullptr : &tensors[found->second];
}

const GgufValue *GgufReader::value(std::string_view key) const {
  auto found = keys.find(key);
  return found == keys.end() ? nullptr : &found->second;
}

Status GgufReader::readStored(const GgufEntry &entry, uint64_t offset, std::span<std::byte> into) const {
  assert(offset <= entry.bytes && into.size() <= entry.bytes - offset);
  if (files.empty())
    return makeError(ErrorKind::InvalidArgument, "'", name.string(), "' has keys alone, and no tensor '", entry.name,
                     "'.");
  return files[entry.part].read(entry.offset + offset, into);
}

Result<HostTensor> GgufReader::read(const GgufEntry &entry) const {
  const GgufType *type = entry.readType();
  assert(type && "a tensor of a type that is not read");
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(ElementType::F32, entry.shape));
  std::span<float> values = tensor.values<float>();
  HEDDLE_CHECK(forBlocks(entry, [&](size_t block, std::span<const std::byte> piece) {
    widenBlocks(*type, piece, values.subspan(block * type->values, piece.size() / type->bytes * type->values));
  }));
  return tensor;
}

Result<PackedTensor> GgufReader::readPacked(const GgufEntry &entry) const {
  const GgufType &type = *entry.readType();
  PackedTensor packed;
  packed.format = *type.format;
  HEDDLE_CHECK(packed.forEach([&](HostTensor &part, int64_t group) -> Status {
    Shape shape = entry.shape;
    shape.back() /= group;
    HEDDLE_ASSIGN(part, HostTensor::uninitialized(ElementType::F32, shape));
    return Success();
  }));
  bool hasFactors = packed.format.scaleBits > 0;
  size_t groups = type.values / size_t(packed.format.group);
  auto put = [](HostTensor &to, size_t block, size_t count, auto *from) {
    if (!to.bytes().empty())
      std::ranges::copy(std::span(from, count), to.values<float>().begin() + std::ptrdiff_t(block * count));
  };
  BlockParts parts = {};
  HEDDLE_CHECK(forBlocks(entry, [&](size_t first, std::span<const std::byte> piece) {
    for (size_t i = 0; i < piece.size() / type.bytes; ++i) {
      size_t block = first + i;
      type.unpack(piece.data() + i * type.bytes, parts);
      put(packed.numbers, block, type.values, parts.numbers);
      put(hasFactors ? packed.scaleFactors : packed.scales, block, 1, &parts.factor);
      put(hasFactors ? packed.offsetFactors : packed.offsets, block, 1, &parts.offsetFactor);
      if (hasFactors) {
        put(packed.scales, block, groups, parts.scales);
        put(packed.offsets, block, groups, parts.offsets);
      }
    }
  }));
  return packed;
}

// Reads the blocks in pieces: a second copy of a whole tensor may not fit into memory.
Status GgufReader::forBlocks(const GgufEntry &entry,
                             const std::function<void(size_t, std::span<const std::byte>)> &take) const {
  constexpr size_t most = 1 << 16;
  const GgufType &type = *entry.readType();
  std::vector<std::byte> piece;
  for (size_t block = 0, blocks = entry.bytes / type.bytes; block < blocks; block += most) {
    piece.resize(std::min(most, blocks - block) * type.bytes);
    HEDDLE_CHECK(readStored(entry, block * type.bytes, piece));
    take(block, piece);
  }
  return Success();
}

std::string GgufReader::storedValues(std::string_view prefix) const {
  std::string bytes;
  for (const auto &[key, value] : inOrder)
    if (key.starts_with(prefix))
      bytes += value;
  return bytes;
}

uint64_t GgufReader::countValues(std::string_view prefix) const {
  return uint64_t(std::ranges::count_if(inOrder, [&](const auto &entry) { return entry.first.starts_with(prefix); }));
}

std::string ggufHeader(uint64_t tensors, uint64_t keys) {
  std::string bytes(kMagic);
  appendBytes(bytes, kNewest);
  appendBytes(bytes, tensors);
  appendBytes(bytes, keys);
  return bytes;
}

static void appendText(std::string &to, const std::string &text) {
  appendBytes(to, uint64_t(text.size()));
  to += text;
}

// `type` is GGUF's number of the value's type.
template <typename Append> static std::string keyValue(const std::string &key, uint32_t type, Append append) {
  std::string bytes;
  appendText(bytes, key);
  appendBytes(bytes, type);
  append(bytes);
  return bytes;
}

std::string ggufValue(const std::string &key, const std::string &text) {
  return keyValue(key, 8, [&](std::string &bytes) { appendText(bytes, text); });
}
std::string ggufValue(const std::string &key, uint32_t number) {
  return keyValue(key, 4, [&](std::string &bytes) { appendBytes(bytes, number); });
}
std::string ggufValue(const std::string &key, float number) {
  return keyValue(key, 6, [&](std::string &bytes) { appendBytes(bytes, number); });
}

bool isGgufAdapter(const GgufReader &file) {
  const GgufValue *type = file.value("general.type");
  return type && type->text() && *type->text() == "adapter";
}

std::string ggufTensorInfo(const std::string &name, std::span<const int64_t> shape, uint32_t type, uint64_t offset) {
  std::string bytes;
  appendText(bytes, name);
  appendBytes(bytes, uint32_t(shape.size()));
  for (size_t i = shape.size(); i-- > 0;)
    appendBytes(bytes, shape[i]);
  appendBytes(bytes, type);
  appendBytes(bytes, offset);
  return bytes;
}

bool isGgufFile(const std::filesystem::path &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return false;
  if (path.extension() == ".gguf")
    return true;
  Result<InputFile> file = InputFile::open(path);
  char begin[4] = {};
  return file.ok() && file->size() >= sizeof begin && file->read(0, std::as_writable_bytes(std::span(begin))).ok() &&
         std::string_view(begin, sizeof begin) == kMagic;
}

} // namespace heddle
