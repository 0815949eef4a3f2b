#include "runtime/text/Lines.h"

#include "runtime/core/Log.h"
#include "runtime/core/Signature.h"

#include <algorithm>
#include <cstring>

namespace heddle {
namespace {

constexpr size_t kPortion = 1 << 17;
constexpr size_t kLongestLine = size_t(64) << 20;

} // namespace

Result<LineReader> LineReader::open(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::unique_ptr<ByteStream> stream, ByteStream::open(path));
  return LineReader(path, std::move(stream));
}

bool LineReader::fill() {
  if (begin != 0) {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
  }
  if (end > kLongestLine) {
    problem = makeError(ErrorKind::Malformed, "line ", number + 1, " of '", path.string(), "' is longer than ",
                        kLongestLine >> 20, " MiB; is it text with a sentence on each line?");
    return false;
  }
  if (buffer.size() - end < kPortion)
    buffer.resize(std::max(2 * buffer.size(), end + kPortion));
  Result<size_t> got = stream->read({buffer.data() + end, buffer.size() - end});
  if (!got.ok()) {
    problem = got.error();
    return false;
  }
  end += *got;
  return *got != 0;
}

// Checks the decompressed beginning of the text. HTML is only warned about, as it may be what a model should learn.
bool LineReader::isText() {
  std::string_view beginning = std::string_view(buffer).substr(begin, std::min(end - begin, kSignatureBytes));
  std::optional<std::string> kind = foreignKind(beginning);
  if (!kind)
    return true;
  std::string what = str("'", path.string(), "' ", *kind);
  if (isHtml(beginning)) {
    log(LogLevel::Warning, what);
    return true;
  }
  problem = makeError(ErrorKind::Malformed, std::move(what));
  return false;
}

bool LineReader::next(std::string &line) {
  if (number == 0 && begin == end && (!fill() || !isText()))
    return false;
  size_t searched = begin;
  while (true) {
    if (const void *feed = std::memchr(buffer.data() + searched, '\n', end - searched)) {
      size_t at = size_t(static_cast<const char *>(feed) - buffer.data());
      line = plainLine(std::string_view(buffer).substr(begin, at - begin), number++ == 0);
      consumed += at + 1 - begin;
      begin = at + 1;
      return true;
    }
    size_t held = end - begin;
    if (!fill())
      break;
    searched = begin + held;
  }
  if (!problem.ok() || begin == end)
    return false;
  line = plainLine(std::string_view(buffer).substr(begin, end - begin), number++ == 0);
  consumed += end - begin;
  begin = end;
  return true;
}

std::string_view plainLine(std::string_view line, bool isFirst) {
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  if (isFirst && line.starts_with("\xef\xbb\xbf"))
    line.remove_prefix(3);
  return line;
}

Result<std::vector<std::string>> readLines(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(path));
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);)
    lines.push_back(line);
  HEDDLE_CHECK(reader.status());
  return lines;
}

Result<ParallelText> readParallelText(const std::filesystem::path &source, const std::filesystem::path &target) {
  ParallelText text;
  HEDDLE_ASSIGN(text.source, readLines(source));
  HEDDLE_ASSIGN(text.target, readLines(target));
  if (text.source.size() != text.target.size())
    return unequalLines(source, text.source.size(), target, text.target.size());
  return text;
}

Error unequalLines(const std::filesystem::path &source, uint64_t sourceLines, const std::filesystem::path &target,
                   uint64_t targetLines) {
  return makeError(ErrorKind::InvalidArgument, "'", source.string(), "' has ", sourceLines, " lines and '",
                   target.string(), "' has ", targetLines,
                   "; line n of the first must translate line n of the second.");
}

} // namespace heddle
