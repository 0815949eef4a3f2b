// Cuts a text into the words within which byte pairs are merged, as the vocabularies of GPT-2 and similar models do.
#pragma once

#include <cstddef>
#include <string_view>

namespace heddle {

// How a text is cut.
struct WordRule {
  enum class Kind {
    GPT2,   // contractions; runs of letters, of numbers or of other characters, with the space before; white space
    LLaMA3, // like GPT2, but with any character before letters, separate new lines, contractions in any case
  };
  Kind kind = Kind::GPT2;
  // For LLaMA3, the most number characters in a word. For GPT2, 1 if each number character is a word of its own.
  int numbers = 0;
};

// The length in bytes of the first word of `text`, which is not empty. The last white space character before a word is
// left to that word.
size_t firstWordBytes(std::string_view text, WordRule rule = {});

} // namespace heddle
