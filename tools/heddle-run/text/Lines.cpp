#include "tools/heddle-run/text/Lines.h"

#include <cerrno>
#include <cstring>

namespace heddle::run {

Result<LineReader> LineReader::open(const std::filesystem::path &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return makeError(ErrorKind::Io, "'", path.string(), "' is a folder; give a text file with one sentence a line.");
  LineReader reader(path);
  errno = 0;
  reader.stream.open(path, std::ios::binary);
  if (!reader.stream)
    return makeError(ErrorKind::NotFound, "cannot open '", path.string(), "': ", std::strerror(errno ? errno : EIO),
                     ".");
  return reader;
}

bool LineReader::next(std::string &line) {
  if (!std::getline(stream, line))
    return false;
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  if (number++ == 0 && line.starts_with("\xef\xbb\xbf"))
    line.erase(0, 3);
  return true;
}

Status LineReader::status() const {
  if (stream.bad())
    return makeError(ErrorKind::Io, "reading '", path.string(), "' failed after line ", number, ".");
  return Success();
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
    return makeError(ErrorKind::InvalidArgument, "'", source.string(), "' has ", text.source.size(), " lines and '",
                     target.string(), "' has ", text.target.size(),
                     "; line n of one must translate line n of the other.");
  return text;
}

} // namespace heddle::run
