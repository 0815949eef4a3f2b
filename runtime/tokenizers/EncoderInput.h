// The input of an encoder: one or two texts with their marks.
#pragma once

#include "runtime/tokenizers/TextCodec.h"

namespace heddle {

// The places of the texts in an input.
struct InputTexts {
  size_t firstLength = 0, firstEnd = 0;   // tokens of the text, and the index behind its last token
  size_t secondLength = 0, secondEnd = 0; // zero without a second text

  // Cuts texts at their ends, of a pair the longer one first, until `tokens` has at most `longest` of them. Marks stay
  // as long as `longest` has room for them.
  void cut(std::vector<int32_t> &tokens, size_t longest);
};

struct EncoderInput {
  std::vector<int32_t> tokens; // marks included
  InputTexts texts;

  void cut(size_t longest) { texts.cut(tokens, longest); }
};

// The vocabulary's marks in the input of an encoder; if it has none, `begin` and `end`, because an empty text needs a token.
InputMarks inputMarksOf(const TextCodec &vocabulary, int32_t begin, int32_t end);

// Encodes a text, or two, with `marks` around them. `marks.between` is present if there is a second text.
EncoderInput encodeInput(const TextCodec &vocabulary, const InputMarks &marks, std::string_view text,
                         std::optional<std::string_view> second = std::nullopt);

} // namespace heddle
