// The input of an encoder: one or two texts with their marks.
#pragma once

#include "runtime/tokenizers/TextCodec.h"

namespace heddle {

struct EncoderInput {
  std::vector<int32_t> tokens; // marks included
  size_t whole = 0;            // the number of tokens before the texts were cut
};

// Encodes a text, or two, with `marks` around them. If they have more than `longest` tokens, texts are cut at their
// ends: of a pair, the longer text first. `marks.between` is present if there is a second text.
EncoderInput encodeInput(const TextCodec &vocabulary, const InputMarks &marks, std::string_view text,
                         std::optional<std::string_view> second, size_t longest);

} // namespace heddle
