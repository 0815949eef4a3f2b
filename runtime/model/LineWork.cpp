#include "runtime/model/LineWork.h"

#include "runtime/core/Log.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <charconv>

namespace heddle {

std::string replaceInvalidBytes(std::string_view line, uint64_t number) {
  if (isValidUtf8(line))
    return std::string(line);
  log(LogLevel::Warning, str("line ", number, " is not UTF-8; its invalid bytes are replaced"));
  return replaceInvalidUtf8(line);
}

void warnOfCut(uint64_t number, const char *what, size_t tokens, size_t longest) {
  log(LogLevel::Warning, str("line ", number, " has ", what, tokens, " tokens and is cut to ", longest,
                             ", the most that the model was compiled for"));
}

Result<std::vector<int32_t>> readIds(std::string_view line, uint64_t number, int64_t pieces) {
  std::vector<int32_t> ids;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty())
      return ids;
    int32_t id = -1;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
    bool isWord = end == line.data() + line.size() || *end == ' ' || *end == '\t' || *end == '\r';
    if (error != std::errc() || !isWord || id < 0 || id >= pieces)
      return makeError(ErrorKind::InvalidArgument, "line ", number, ": '",
                       line.substr(0, std::min<size_t>(line.find(' '), 30)), "' is no token id from 0 to ", pieces - 1,
                       "; with --ids a line is token ids with spaces between them.");
    ids.push_back(id);
    line.remove_prefix(size_t(end - line.data()));
  }
}

std::string showIds(std::span<const int32_t> ids) {
  std::string text;
  for (int32_t id : ids)
    text += str(text.empty() ? "" : " ", id);
  return text;
}

} // namespace heddle
