#include "runtime/core/TorchFile.h"

#include "runtime/core/Narrow.h"
#include "runtime/core/Pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_set>

namespace heddle {
namespace {

constexpr size_t kLongestName = 1024; // of a tensor, in bytes
constexpr uint64_t kPickleLimit = 64 << 20, kDirectoryLimit = 256 << 20;
constexpr std::string_view kZip("PK\x03\x04"), kMember("PK\x01\x02"), kEnd("PK\x05\x06"), kEnd64("PK\x06\x06"),
    kLocator64("PK\x06\x07");

// Little-endian numbers of a part of the file.
class Fields {
public:
  explicit Fields(std::span<const std::byte> bytes) : bytes(bytes) {}

  bool begins(std::string_view magic) const {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  }
  template <typename T> T at(size_t offset) const { // 0 beyond the end
    T value = 0;
    if (offset + sizeof(T) <= bytes.size())
      std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

private:
  std::span<const std::byte> bytes;
};

// A file of the archive.
struct Member {
  uint64_t header = 0, bytes = 0; // offset of its local header, and its length
  bool isStored = true;           // neither compressed nor encrypted
};

class Archive {
public:
  explicit Archive(const InputFile &file) : file(file) {}

  template <typename... Parts> Error malformed(const Parts &...parts) const {
    return makeError(ErrorKind::Malformed, "'", file.path().string(), "' ", parts..., "; download it again.");
  }

  Result<std::vector<std::byte>> read(uint64_t offset, uint64_t count) const {
    if (offset > file.size() || count > file.size() - offset)
      return malformed("is a zip archive that is cut off");
    std::vector<std::byte> bytes(count);
    HEDDLE_CHECK(file.read(offset, bytes));
    return bytes;
  }

  // Reads the directory at the archive's end.
  Status open() {
    constexpr uint64_t endBytes = 22, locatorBytes = 20, longestComment = 65535;
    uint64_t tail = std::min(file.size(), endBytes + locatorBytes + longestComment);
    HEDDLE_ASSIGN(std::vector<std::byte> last, read(file.size() - tail, tail));
    std::string_view text(reinterpret_cast<const char *>(last.data()), last.size());
    size_t end = text.rfind(kEnd);
    if (end == std::string_view::npos || last.size() - end < endBytes)
      return malformed("has no directory at its end, as a zip archive has it");
    Fields fields{std::span(last).subspan(end)};
    uint64_t count = fields.at<uint16_t>(10), bytes = fields.at<uint32_t>(12), offset = fields.at<uint32_t>(16);
    if (end >= locatorBytes) {
      Fields locator{std::span(last).subspan(end - locatorBytes)};
      if (locator.begins(kLocator64)) {
        HEDDLE_ASSIGN(std::vector<std::byte> wide, read(locator.at<uint64_t>(8), 56));
        Fields numbers(wide);
        if (!numbers.begins(kEnd64))
          return malformed("is a zip archive with a damaged directory");
        count = numbers.at<uint64_t>(32), bytes = numbers.at<uint64_t>(40), offset = numbers.at<uint64_t>(48);
      }
    }
    if (bytes > kDirectoryLimit)
      return malformed("is a zip archive with a damaged directory");
    HEDDLE_ASSIGN(std::vector<std::byte> directory, read(offset, bytes));
    std::span<const std::byte> rest(directory);
    for (uint64_t i = 0; i < count && !rest.empty(); ++i) {
      HEDDLE_ASSIGN(size_t used, addMember(rest));
      rest = rest.subspan(used);
    }
    return Success();
  }

  const Member *find(std::string_view name) const {
    auto found = members.find(name);
    return found == members.end() ? nullptr : &found->second;
  }
  // The name of the first file that ends so; empty if there is none.
  std::string nameEnding(std::string_view end) const {
    for (const auto &[name, member] : members)
      if (name.ends_with(end))
        return name;
    return {};
  }

  // The offset in the file of the first byte of a member.
  Result<uint64_t> begin(const std::string &name, const Member &member) const {
    constexpr uint64_t headerBytes = 30;
    if (!member.isStored)
      return makeError(ErrorKind::Unsupported, "'", file.path().string(), "' has compressed or encrypted '", name,
                       "', and torch.save writes neither; save the model again.");
    HEDDLE_ASSIGN(std::vector<std::byte> header, read(member.header, headerBytes));
    Fields fields(header);
    uint64_t begin = member.header + headerBytes + fields.at<uint16_t>(26) + fields.at<uint16_t>(28);
    if (!fields.begins(kZip) || begin > file.size() || member.bytes > file.size() - begin)
      return malformed("is a zip archive without '", name, "', which its directory lists");
    return begin;
  }

private:
  // Adds the first file of the directory's rest, and returns the length of its entry.
  Result<size_t> addMember(std::span<const std::byte> rest) {
    constexpr size_t fixed = 46;
    Fields fields(rest);
    size_t name = fields.at<uint16_t>(28), extra = fields.at<uint16_t>(30), comment = fields.at<uint16_t>(32);
    size_t whole = fixed + name + extra + comment;
    if (!fields.begins(kMember) || whole > rest.size())
      return malformed("is a zip archive with a damaged directory");
    Member member{fields.at<uint32_t>(42), fields.at<uint32_t>(24), fields.at<uint16_t>(10) == 0};
    member.isStored &= (fields.at<uint16_t>(8) & 1) == 0;
    uint64_t stored = fields.at<uint32_t>(20);
    // An extra field holds, in this order, the numbers that need 64 bits.
    std::span<const std::byte> extras = rest.subspan(fixed + name, extra);
    while (extras.size() >= 4) {
      Fields field(extras);
      size_t length = std::min<size_t>(field.at<uint16_t>(2), extras.size() - 4);
      Fields numbers(extras.subspan(4, length));
      size_t place = 0;
      if (field.at<uint16_t>(0) == 1)
        for (uint64_t *number : {&member.bytes, &stored, &member.header})
          if (*number == UINT32_MAX) {
            *number = numbers.at<uint64_t>(place);
            place += 8;
          }
      extras = extras.subspan(4 + length);
    }
    member.isStored &= stored == member.bytes;
    members.emplace(std::string(reinterpret_cast<const char *>(rest.data()) + fixed, name), member);
    return whole;
  }

  const InputFile &file;
  std::map<std::string, Member, std::less<>> members;
};

// The bytes of a number of each type.
std::optional<uint64_t> bytesOf(std::string_view type) {
  constexpr std::pair<std::string_view, uint64_t> kTypes[] = {
      {"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8}, {"Long", 8},        {"Int", 4},
      {"Short", 2}, {"Char", 1}, {"Byte", 1},     {"Bool", 1},   {"ComplexFloat", 8}};
  for (const auto &[name, bytes] : kTypes)
    if (name == type)
      return bytes;
  return std::nullopt;
}

using Kind = Pickle::Value::Kind;

// Makes entries of a pickle's tensors.
class Tensors {
public:
  Tensors(const Archive &archive, const Pickle &pickle, std::string prefix)
      : archive(archive), pickle(pickle), prefix(std::move(prefix)) {}

  // tensor = (storage, offset, size, stride, ...); storage = ("storage", type, key, device, count)
  Result<TorchEntry> read(const std::string &name, const Pickle::Value &tensor) const {
    auto wrong = [&] {
      return archive.malformed("describes the tensor '", name, "' in no form that torch.save writes");
    };
    const Pickle::Value &storage = pickle.at(tensor.items[0]), &offset = pickle.at(tensor.items[1]);
    if (storage.kind != Kind::Storage || storage.items.size() < 5 || offset.kind != Kind::Whole || offset.whole < 0)
      return wrong();
    const Pickle::Value &type = pickle.at(storage.items[1]), &key = pickle.at(storage.items[2]);
    std::optional<Shape> shape = wholes(tensor.items[2]), strides = wholes(tensor.items[3]);
    constexpr std::string_view begin = "torch ", end = "Storage";
    if (type.kind != Kind::Global || key.kind != Kind::Text || !shape || !strides || shape->size() != strides->size())
      return wrong();
    bool isOfNumbers = type.text.starts_with(begin) && type.text.ends_with(end);
    TorchEntry entry{name,
                     isOfNumbers ? type.text.substr(begin.size(), type.text.size() - begin.size() - end.size()) : "",
                     *shape, 0};
    std::optional<uint64_t> bytes = bytesOf(entry.type);
    std::optional<int64_t> count = elementCount(entry.shape);
    if (!bytes || !count)
      return wrong();
    int64_t stride = 1;
    for (size_t i = shape->size(); *count > 0 && i-- > 0; stride *= (*shape)[i])
      entry.isInRowOrder &= (*shape)[i] == 1 || (*strides)[i] == stride;
    std::string memberName = prefix + "data/" + key.text;
    const Member *member = archive.find(memberName);
    if (!member)
      return archive.malformed("lacks the numbers of the tensor '", name, "'");
    HEDDLE_ASSIGN(entry.offset, archive.begin(memberName, *member));
    uint64_t most = member->bytes / *bytes;
    if (uint64_t(offset.whole) > most || uint64_t(*count) > most - uint64_t(offset.whole))
      return archive.malformed("has fewer numbers than the tensor '", name, "'");
    entry.offset += uint64_t(offset.whole) * *bytes;
    return entry;
  }

private:
  std::optional<Shape> wholes(Pickle::Id id) const {
    const Pickle::Value &tuple = pickle.at(id);
    Shape numbers;
    constexpr size_t mostDimensions = 8;
    if (tuple.kind != Kind::Tuple || tuple.items.size() > mostDimensions)
      return std::nullopt;
    for (Pickle::Id item : tuple.items) {
      const Pickle::Value &number = pickle.at(item);
      if (number.kind != Kind::Whole || number.whole < 0)
        return std::nullopt;
      numbers.push_back(number.whole);
    }
    return numbers;
  }

  const Archive &archive;
  const Pickle &pickle;
  std::string prefix;
};

} // namespace

Result<TorchReader> TorchReader::open(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(InputFile file, InputFile::open(path));
  TorchReader reader(std::move(file));
  Archive archive(reader.file);
  if (!isTorchFile(path))
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' is not a zip archive, as torch.save has written it since PyTorch 1.6; save the model again.");
  HEDDLE_CHECK(archive.open());
  std::string name = archive.nameEnding("/data.pkl"),
              prefix = name.substr(0, name.size() - std::min<size_t>(name.size(), 8));
  if (name.empty())
    return archive.malformed("is a zip archive without data.pkl, the table of its tensors");
  const Member &member = *archive.find(name);
  HEDDLE_ASSIGN(uint64_t begin, archive.begin(name, member));
  if (member.bytes > kPickleLimit)
    return archive.malformed("has a table of tensors of ", describeBytes(member.bytes));
  if (const Member *order = archive.find(prefix + "byteorder")) {
    HEDDLE_ASSIGN(uint64_t place, archive.begin(prefix + "byteorder", *order));
    HEDDLE_ASSIGN(std::vector<std::byte> text, archive.read(place, std::min<uint64_t>(order->bytes, 16)));
    if (std::string_view(reinterpret_cast<const char *>(text.data()), text.size()) != "little")
      return makeError(ErrorKind::Unsupported, "'", path.string(),
                       "' has numbers in big-endian order; save the model again.");
  }
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, archive.read(begin, member.bytes));
  HEDDLE_ASSIGN(Pickle pickle, Pickle::parse(bytes, str("'", path.string(), "'")));
  const std::vector<Pickle::Id> &items = pickle.root().items;
  if (pickle.root().kind != Kind::Table)
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' holds no table of tensors; save the model's state_dict.");
  Tensors tensors(archive, pickle, prefix);
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const Pickle::Value &key = pickle.at(items[i]);
    if (key.kind == Kind::Text && key.text.size() > kLongestName)
      return makeError(ErrorKind::Unsupported, "'", path.string(), "' has a name of ", key.text.size(),
                       " bytes in its table of tensors, and Heddle reads names of at most ", kLongestName,
                       "; save the model with shorter names.");
    if (key.kind == Kind::Text && !names.insert(key.text).second)
      return archive.malformed("has two entries '", key.text, "' in its table of tensors");
  }
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const Pickle::Value &key = pickle.at(items[i]), &value = pickle.at(items[i + 1]);
    if (key.kind != Kind::Text || value.kind != Kind::Tensor)
      continue; // versions and other notes
    HEDDLE_ASSIGN(TorchEntry entry, tensors.read(key.text, value));
    reader.tensors.emplace(key.text, std::move(entry));
  }
  if (reader.tensors.empty())
    return makeError(ErrorKind::Unsupported, "'", path.string(),
                     "' holds no table of tensors; save the model's state_dict.");
  return reader;
}

Result<HostTensor> TorchReader::read(const TorchEntry &entry) const {
  bool isHalf = entry.type == "Half", isNarrow = isHalf || entry.type == "BFloat16";
  if (!isNarrow && entry.type != "Float")
    return makeError(ErrorKind::Unsupported, "'", path().string(), "' has '", entry.name, "' as numbers of type ",
                     entry.type,
                     ", and Heddle reads weights of Float, Half and BFloat16; save the model in one of these types.");
  if (!entry.isInRowOrder)
    return makeError(ErrorKind::Unsupported, "'", path().string(), "' has '", entry.name,
                     "' in another order than row by row; save the model as safetensors.");
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(ElementType::F32, entry.shape));
  if (!isNarrow) {
    HEDDLE_CHECK(file.read(entry.offset, tensor.bytes()));
    return tensor;
  }
  std::span<float> numbers = tensor.values<float>();
  std::vector<uint16_t> narrow(numbers.size());
  HEDDLE_CHECK(file.read(entry.offset, std::as_writable_bytes(std::span(narrow))));
  std::ranges::transform(narrow, numbers.begin(),
                         [&](uint16_t bits) { return isHalf ? widenF16(bits) : widenBF16(bits); });
  return tensor;
}

bool isTorchFile(const std::filesystem::path &path) {
  Result<InputFile> file = InputFile::open(path);
  std::array<std::byte, 4> begin{};
  return file.ok() && file->size() >= begin.size() && file->read(0, begin).ok() && Fields(begin).begins(kZip);
}

} // namespace heddle
