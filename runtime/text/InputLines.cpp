#include "runtime/text/InputLines.h"

#include "runtime/core/Log.h"
#include "runtime/core/Signature.h"
#include "runtime/core/Span.h"
#include "runtime/text/Lines.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace heddle {
namespace {

constexpr size_t kPortion = 1 << 16;
constexpr int kPatienceMilliseconds = 20;

} // namespace

bool InputLines::moreIsReady(int milliseconds) const {
  pollfd wait = {descriptor, POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) > 0;
}

Status InputLines::fill() {
  size_t held = buffer.size();
  buffer.resize(held + kPortion);
  ssize_t got;
  do
    got = ::read(descriptor, buffer.data() + held, kPortion);
  while (got < 0 && errno == EINTR);
  buffer.resize(held + size_t(std::max<ssize_t>(got, 0)));
  if (got < 0)
    return makeError(ErrorKind::Io, "reading the standard input failed: ", std::strerror(errno), ".");
  atEnd = got == 0;
  if (taken == 0 && held == 0 && !isHtml(buffer))
    if (std::optional<std::string> kind = foreignKind(buffer.substr(0, kSignatureBytes)))
      return makeError(ErrorKind::Malformed, "the standard input ", *kind);
  if (cutting) {
    size_t end = std::min(buffer.find('\n', held), buffer.size());
    cutting = end == buffer.size() && !atEnd;
    buffer.erase(held, end - held);
  } else if (longLines == LongLines::Whole && buffer.size() > kLongestWholeLine &&
             buffer.find('\n', held) == std::string::npos) {
    return makeError(ErrorKind::InvalidArgument, "line ", taken + 1, " of the standard input is longer than ",
                     kLongestWholeLine >> 20, " MiB; divide it into several lines.");
  } else if (longLines == LongLines::Cut && buffer.size() > kLongestLine &&
             buffer.find('\n', held) == std::string::npos) {
    log(LogLevel::Warning, str("line ", taken + 1, " of the standard input is longer than ", kLongestLine >> 20,
                               " MiB: the rest of it is left out"));
    buffer.resize(kLongestLine);
    cutting = true;
  }
  return Success();
}

Result<std::vector<std::string>> InputLines::next(size_t limit, Wait wait) {
  Span span(wait == Wait::ForOne ? "wait for lines" : "read lines that are there");
  std::vector<std::string> lines;
  auto take = [&](size_t end) {
    std::string_view line = std::string_view(buffer).substr(begin, end - begin);
    lines.emplace_back(plainLine(line, taken == 0));
    ++taken;
  };
  while (lines.size() < limit) {
    if (size_t end = buffer.find('\n', std::max(begin, searched)); end != std::string::npos) {
      take(end);
      begin = end + 1;
      continue;
    }
    buffer.erase(0, begin);
    begin = 0;
    searched = buffer.size();
    if (atEnd) {
      if (!buffer.empty()) {
        take(buffer.size());
        buffer.clear();
        searched = 0;
      }
      break;
    }
    bool patient = wait == Wait::ForOne;
    if ((!lines.empty() || !patient) && !moreIsReady(patient ? kPatienceMilliseconds : 0))
      break;
    HEDDLE_CHECK(fill());
  }
  return lines;
}

} // namespace heddle
