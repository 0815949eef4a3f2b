#include "runtime/text/InputLines.h"

#include "runtime/core/Span.h"

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
  if (cutting) {
    size_t end = std::min(buffer.find('\n', held), buffer.size());
    cutting = end == buffer.size() && !atEnd;
    buffer.erase(held, end - held);
  } else if (buffer.size() > kLongestLine && buffer.find('\n') == std::string::npos) {
    buffer.resize(kLongestLine);
    cutting = true;
  }
  return Success();
}

Result<std::vector<std::string>> InputLines::next(size_t limit, Wait wait) {
  Span span(wait == Wait::ForOne ? "wait for lines" : "read lines that are there");
  std::vector<std::string> lines;
  auto take = [&](size_t end) {
    std::string line = buffer.substr(begin, end - begin);
    if (line.ends_with('\r'))
      line.pop_back();
    lines.push_back(std::move(line));
  };
  while (lines.size() < limit) {
    if (size_t end = buffer.find('\n', begin); end != std::string::npos) {
      take(end);
      begin = end + 1;
      continue;
    }
    buffer.erase(0, begin);
    begin = 0;
    if (atEnd) {
      if (!buffer.empty()) {
        take(buffer.size());
        buffer.clear();
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
