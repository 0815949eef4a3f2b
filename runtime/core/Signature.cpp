#include "runtime/core/Signature.h"

#include "runtime/core/File.h"

#include <algorithm>
#include <cctype>

namespace heddle {
namespace {

constexpr std::string_view kPointer = "version https://git-lfs.github.com/spec/";

struct Packed {
  std::string_view magic, name, advice;
};
constexpr Packed kPacked[] = {
    {"\xfd"
     "7zXZ",
     "a file compressed with xz", "`xz -d`"},
    {"BZh", "a file compressed with bzip2", "`bzip2 -d`"},
    {"PK\x03\x04", "a zip archive", "`unzip`"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "`7z x`"},
    {"\x1f\x8b", "a file compressed with gzip", "`gzip -d`"},
    {"\x28\xb5\x2f\xfd", "a file compressed with Zstandard", "`zstd -d`"},
    {"\x04\x22\x4d\x18", "a file compressed with LZ4", "`lz4 -d`"},
};

// Returns the encoding of a UTF-16 or UTF-32 byte order mark. Returns nothing for a UTF-8 mark: such text can be read.
std::optional<std::string_view> wideText(std::string_view beginning) {
  using namespace std::string_view_literals;
  if (beginning.starts_with("\xff\xfe\0\0"sv) || beginning.starts_with("\0\0\xfe\xff"sv))
    return "UTF-32";
  if (beginning.starts_with("\xff\xfe"sv) || beginning.starts_with("\xfe\xff"sv))
    return "UTF-16";
  return std::nullopt;
}

} // namespace

bool isHtml(std::string_view beginning) {
  if (beginning.starts_with("\xef\xbb\xbf"))
    beginning.remove_prefix(3);
  size_t first = beginning.find_first_not_of(" \t\r\n");
  std::string lower(beginning.substr(std::min(first, beginning.size())).substr(0, 16));
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return char(std::tolower(static_cast<unsigned char>(c))); });
  return lower.starts_with("<!doctype html") || lower.starts_with("<html");
}

std::optional<std::string> foreignKind(std::string_view beginning) {
  if (beginning.starts_with(kPointer))
    return "is a git-lfs pointer and not the file itself: run `git lfs pull` in its folder, or download the file.";
  if (isHtml(beginning))
    return "is a page of HTML and not the file itself: download the file again, from an address that gives it and not "
           "a page about it.";
  for (const Packed &packed : kPacked)
    if (beginning.starts_with(packed.magic) && (packed.magic != "BZh" || beginning.substr(4).starts_with("1AY&SY")))
      return str("is ", packed.name, ": unpack it first, for example with ", packed.advice, ".");
  if (std::optional<std::string_view> encoding = wideText(beginning))
    return str("is text in ", *encoding, ", and Heddle reads UTF-8: convert it, for example with `iconv -f ", *encoding,
               " -t UTF-8`.");
  return std::nullopt;
}

Status checkSignature(const InputFile &file) {
  std::string beginning(std::min<uint64_t>(file.size(), kSignatureBytes), '\0');
  HEDDLE_CHECK(file.read(0, std::as_writable_bytes(std::span(beginning))));
  std::optional<std::string> kind = foreignKind(beginning);
  return kind ? Status(makeError(ErrorKind::Malformed, "'", file.path().string(), "' ", *kind)) : Success();
}

} // namespace heddle
