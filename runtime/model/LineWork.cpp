#include "runtime/model/LineWork.h"

#include "runtime/core/Log.h"
#include "runtime/core/Status.h"
#include "runtime/text/Utf8.h"

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

} // namespace heddle
