#include "runtime/core/Npy.h"

#include "runtime/core/File.h"
#include "runtime/core/Signature.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>

static_assert(std::endian::native == std::endian::little, "files hold little endian values and are read as they are");

namespace heddle {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr uint64_t headerLimit = 64 * 1024;

// Reads the header, a Python dictionary literal such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// NumPy writes exactly these three keys.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest(text) {}

  bool parse() {
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string_view key;
      if (!parseString(key) || !take(':'))
        return false;
      bool understood = key == "descr"           ? parseString(descr)
                        : key == "fortran_order" ? parseBool(fortran)
                        : key == "shape"         ? parseShape()
                                                 : false;
      if (!understood)
        return false;
      take(',');
    }
    return !descr.empty() && hasShape;
  }

  std::string_view descr;
  bool fortran = false;
  bool hasShape = false;
  Shape shape;

private:
  void skipSpace() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n' || rest.front() == '\t'))
      rest.remove_prefix(1);
  }

  bool take(char c) {
    skipSpace();
    if (rest.empty() || rest.front() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }

  bool takeWord(std::string_view word) {
    skipSpace();
    if (!rest.starts_with(word))
      return false;
    rest.remove_prefix(word.size());
    return true;
  }

  bool parseString(std::string_view &value) {
    skipSpace();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return false;
    value = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return true;
  }

  bool parseBool(bool &value) {
    value = takeWord("True");
    return value || takeWord("False");
  }

  bool parseShape() {
    hasShape = take('(');
    if (!hasShape)
      return false;
    while (!take(')')) {
      skipSpace();
      int64_t extent = 0;
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
      if (error != std::errc() || extent < 0 || shape.size() == 32)
        return false;
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      shape.push_back(extent);
      take(',');
    }
    return true;
  }

  std::string_view rest;
};

} // namespace

Result<HostTensor> readNpy(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(InputFile file, InputFile::open(path));
  HEDDLE_CHECK(checkSignature(file));
  auto malformed = [&](const auto &...why) {
    return makeError(ErrorKind::Malformed, "'", path.string(), "' is not a usable .npy file: ", why..., ".");
  };

  std::array<std::byte, 12> prefix{};
  if (file.size() < 10)
    return malformed("it is too short for a header");
  HEDDLE_CHECK(file.read(0, std::span(prefix).first(file.size() < 12 ? 10 : 12)));
  if (std::memcmp(prefix.data(), magic.data(), magic.size()) != 0)
    return malformed("it does not begin with NumPy's mark");
  unsigned version = static_cast<unsigned>(prefix[6]);
  if (version < 1 || version > 3)
    return malformed("its format version is ", version, ", and versions 1 to 3 are known");

  uint64_t length = 0;
  uint64_t start = version == 1 ? 10 : 12;
  for (uint64_t i = 8; i < start; ++i)
    length |= static_cast<uint64_t>(prefix[i]) << (8 * (i - 8));
  if (length > headerLimit || length > file.size() - std::min(start, file.size()))
    return malformed("its header does not fit in the file");
  std::string header(length, '\0');
  HEDDLE_CHECK(file.read(start, std::as_writable_bytes(std::span(header))));

  HeaderParser parser(header);
  if (!parser.parse())
    return malformed("its header cannot be read");
  if (parser.descr != "<f4" && parser.descr != "<i4")
    return malformed("its elements are '", parser.descr,
                     "', and Heddle takes little endian float32 ('<f4') and int32 ('<i4'); convert it with .astype()");
  if (parser.fortran)
    return malformed("it is in Fortran order; save numpy.ascontiguousarray() of it");

  ElementType type = parser.descr == "<f4" ? ElementType::F32 : ElementType::I32;
  std::optional<int64_t> count = elementCount(parser.shape);
  // Checked before anything is allocated, so that a damaged shape cannot ask for much memory.
  if (!count || static_cast<uint64_t>(*count) * kElementBytes != file.size() - start - length)
    return malformed("the size of its data does not fit ", describe(type, parser.shape));
  HEDDLE_ASSIGN(HostTensor tensor, HostTensor::uninitialized(type, std::move(parser.shape)));
  HEDDLE_CHECK(file.read(start + length, tensor.bytes()));
  return tensor;
}

Status writeNpy(const std::filesystem::path &path, const TensorView &tensor) {
  std::string shape;
  for (int64_t extent : tensor.shape)
    shape += std::to_string(extent) + (tensor.shape.size() == 1 ? "," : ", ");
  if (tensor.shape.size() > 1)
    shape.resize(shape.size() - 2);
  std::string header = str("{'descr': '", tensor.type == ElementType::F32 ? "<f4" : "<i4",
                           "', 'fortran_order': False, 'shape': (", shape, "), }");
  // The data starts at a multiple of 64, as NumPy writes it; the header ends in a newline.
  header.append(63 - (magic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';

  std::string prefix(magic);
  prefix += '\x01';
  prefix += '\x00';
  prefix += static_cast<char>(header.size() & 0xff);
  prefix += static_cast<char>(header.size() >> 8);

  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(prefix))));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(header))));
  HEDDLE_CHECK(file.write(tensor.bytes));
  return file.commit();
}

} // namespace heddle
