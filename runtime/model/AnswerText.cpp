#include "runtime/model/AnswerText.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

// The most tokens that a single character may take: one for each byte.
static constexpr size_t kMostTokensOfCharacter = 4;
static constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool AnswerText::add(std::span<const int32_t> continuation) {
  for (size_t have = tokens.size() - prompted; have < continuation.size(); ++have)
    tokens.push_back(continuation[have]);
  decode(/*isOver=*/false);
  return stopped;
}

void AnswerText::finish(std::span<const int32_t> continuation) {
  add(continuation);
  decode(/*isOver=*/true);
  looked = text.size();
}

std::string AnswerText::take() {
  std::string taken = text.substr(0, looked);
  text.erase(0, looked);
  looked = 0;
  return taken;
}

// The number of bytes at the end of the text that start a character but do not complete it.
static size_t unfinishedBytes(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min(text.size(), kMostTokensOfCharacter - 1); ++bytes) {
    auto byte = uint8_t(text[text.size() - bytes]);
    if ((byte & 0xC0) == 0x80) // within a character
      continue;
    size_t length = byte >= 0xF8 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > bytes ? bytes : 0;
  }
  return 0;
}

// Holds back a character until all its bytes are there. Vocabularies return its bytes, or a replacement character for
// each.
void AnswerText::decode(bool isOver) {
  if (stopped || decoded == tokens.size())
    return;
  std::span<const int32_t> all = tokens;
  std::string piece = vocabulary->continuation(all.first(decoded), all.subspan(decoded));
  size_t sure = piece.size();
  if (!isOver) {
    std::string_view rest = piece;
    if (tokens.size() - decoded < kMostTokensOfCharacter)
      while (rest.ends_with(kReplacement))
        rest.remove_suffix(kReplacement.size());
    sure = rest.size() - unfinishedBytes(rest);
  }
  if (sure > appended)
    append(replaceInvalidUtf8(std::string_view(piece).substr(appended, sure - appended)));
  appended = std::max(appended, sure);
  if (sure == piece.size()) {
    decoded = tokens.size();
    appended = 0;
  }
}

void AnswerText::append(const std::string &piece) {
  text += piece;
  size_t first = std::string::npos;
  for (const std::string &stop : stops)
    first = std::min(first, text.find(stop, looked));
  if (first != std::string::npos) {
    text.resize(first);
    looked = first;
    stopped = true;
    return;
  }
  looked = text.size();
  for (const std::string &stop : stops) // the end of the text may be the start of a stop
    for (size_t length = std::min(stop.size() - 1, text.size()); length > 0; --length)
      if (std::string_view(text).ends_with(std::string_view(stop).substr(0, length))) {
        looked = std::min(looked, text.size() - length);
        break;
      }
}

} // namespace heddle
