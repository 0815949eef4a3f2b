#include "runtime/serve/TextReply.h"

#include "runtime/text/Utf8.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <random>

namespace heddle::serve {

TokenText textOfToken(const TextCodec &vocabulary, std::span<const int32_t> before, int32_t token) {
  std::string bytes = vocabulary.continuation(before, std::span(&token, 1));
  // A character counts for the token that has its first byte.
  auto characters = size_t(std::ranges::count_if(bytes, [](char byte) { return (uint8_t(byte) & 0xC0) != 0x80; }));
  if (bytes.empty())
    bytes = vocabulary.piece(token); // a special token
  if (isValidUtf8(bytes))
    return {bytes, bytes, characters};
  std::string text = "bytes:";
  constexpr const char *digits = "0123456789abcdef";
  for (char byte : bytes)
    text.append("\\x").append({digits[uint8_t(byte) >> 4], digits[uint8_t(byte) & 15]});
  return {std::move(text), std::move(bytes), characters};
}

TextReply::TextReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model,
                     const TextCodec &vocabulary, std::vector<Prompt> prompts)
    : exchange(std::move(exchange)), request(std::move(request)), model(std::move(model)), vocabulary(vocabulary),
      prompts(std::move(prompts)), choices(size()), created(std::time(nullptr)), open(choices.size()) {}

std::string TextReply::newId(std::string_view prefix) const {
  static const uint64_t start = std::random_device()() | uint64_t(std::random_device()()) << 32;
  static std::atomic<uint64_t> count = 0;
  std::ostringstream id;
  id << prefix << std::hex << randomKey(start, ++count, 0);
  return std::move(id).str();
}

const char *TextReply::reasonOf(Ending ending) {
  return ending == Ending::Mark || ending == Ending::Wish ? "stop" : "length";
}

TextReply::Json TextReply::usage() const {
  size_t prompted = 0, answered = 0;
  int64_t reused = 0;
  for (const Prompt &prompt : prompts)
    prompted += prompt.tokens.size();
  for (size_t i = 0; i < choices.size(); ++i) {
    answered += choices[i].continuation.tokens.size();
    if (i % size_t(request.choices) == 0)
      reused += choices[i].continuation.reused;
  }
  return {{"prompt_tokens", prompted},
          {"completion_tokens", answered},
          {"total_tokens", prompted + answered},
          {"prompt_tokens_details", {{"cached_tokens", reused}}}};
}

void TextReply::begin() {
  if (!request.stream || std::exchange(hasBegun, true))
    return;
  exchange->beginEvents();
  beginStream();
}

void TextReply::add(size_t index, const TextPiece &piece) {
  if (isOver)
    return;
  begin();
  streamPiece(index, piece);
}

bool TextReply::end(size_t index, TextAnswer answer) {
  if (isOver)
    return true;
  if (answer.continuation.error) {
    isOver = true;
    ApiError error{answer.isLate ? 503 : 500, answer.continuation.error->message, "",
                   answer.isLate ? "timeout" : "model_error"};
    if (!hasBegun) {
      exchange->refuse(error);
    } else {
      exchange->event(toJson(error));
      exchange->endEvents();
    }
    return true;
  }
  begin();
  Choice &choice = choices[index];
  choice = {std::move(answer.text), std::move(answer.continuation), request.options.alternatives.has_value()};
  if (request.stream)
    streamEnd(index, choice, choice.text);
  if (--open != 0)
    return false;
  isOver = true;
  if (request.stream) {
    endStream();
    exchange->endEvents();
  } else {
    exchange->answer(whole());
  }
  return false;
}

} // namespace heddle::serve
