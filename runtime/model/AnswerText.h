// Decodes a continuation's text piece by piece as its tokens arrive.
#pragma once

#include "runtime/tokenizers/TextCodec.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

class AnswerText {
public:
  // The text ends before the first of `stops`. The vocabulary must outlive this object.
  AnswerText(const TextCodec &vocabulary, std::vector<int32_t> prompt, std::vector<std::string> stops)
      : vocabulary(&vocabulary), tokens(std::move(prompt)), prompted(tokens.size()), decoded(prompted),
        stops(std::move(stops)) {}

  // `continuation` is all of it, including tokens added before. Returns true if the text contains a stop.
  bool add(std::span<const int32_t> continuation);
  // Ends the text: no more tokens come. Invalid UTF-8 is replaced.
  void finish(std::span<const int32_t> continuation);
  // Returns whole characters of text that no further token can change and that were not taken yet.
  std::string take();

  bool isStopped() const { return stopped; }

private:
  void decode(bool isOver);
  void append(const std::string &piece);

  const TextCodec *vocabulary;
  std::vector<int32_t> tokens; // prompt and continuation
  size_t prompted, decoded;    // number of prompt tokens; number of tokens whose text was appended
  size_t appended = 0;         // bytes already appended of the tokens after `decoded`
  std::vector<std::string> stops;
  std::string text;  // not yet taken
  size_t looked = 0; // bytes of `text` in which no stop begins
  bool stopped = false;
};

} // namespace heddle
