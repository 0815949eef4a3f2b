// The text of a continuation, piece by piece as its tokens come.
#pragma once

#include "runtime/text/TextCodec.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

class AnswerText {
public:
  // The text ends before the first of `stops`. The vocabulary outlives this.
  AnswerText(const TextCodec &vocabulary, std::vector<int32_t> prompt, std::vector<std::string> stops)
      : vocabulary(&vocabulary), tokens(std::move(prompt)), prompted(tokens.size()), decoded(prompted),
        stops(std::move(stops)) {}

  // `continuation` is the whole of it, tokens that were added before included. Returns whether a stop is there.
  bool add(std::span<const int32_t> continuation);
  // No more tokens come. Bytes that are no UTF-8 are replaced.
  void finish(std::span<const int32_t> continuation);
  // The text that no further token changes and that was not taken yet, whole characters of it.
  std::string take();

  bool isStopped() const { return stopped; }

private:
  void decode(bool isOver);
  void append(const std::string &piece);

  const TextCodec *vocabulary;
  std::vector<int32_t> tokens; // with the prompt
  size_t prompted, decoded;    // tokens of the prompt; tokens whose text was appended
  size_t appended = 0;         // bytes of the other tokens that were
  std::vector<std::string> stops;
  std::string text;  // not yet taken
  size_t looked = 0; // bytes of it that no stop begins in
  bool stopped = false;
};

} // namespace heddle
