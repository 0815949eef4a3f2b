// The words that byte pairs are merged within, as vocabularies of GPT-2 and its like cut texts into them.
#pragma once

#include <cstddef>
#include <string_view>

namespace heddle {

// How a text is cut.
struct WordRule {
  enum class Kind {
    GPT2,   // contractions, letters, numbers and other characters, each with a space before it, and white space
    LLaMA3, // the same with any character before letters, new lines by themselves, and contractions in capitals too
  };
  Kind kind = Kind::GPT2;
  // Of LLaMA3, how many numbers are a word at most. Of GPT2, 1 where each is a word of its own.
  int numbers = 0;
};

// Bytes of the first word of `text`, which is not empty. Of white space the last character is left to the word behind
// it.
size_t firstWordBytes(std::string_view text, WordRule rule = {});

} // namespace heddle
