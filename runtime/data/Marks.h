// The tokens that a call adds to texts, and other facts about texts that a model receives.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/tokenizers/Tokenizer.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// The begin mark precedes every target sentence, the end mark follows every sentence.
struct Marks {
  int32_t begin = kBeginId;
  int32_t end = kEndId;
  bool beginsTexts = true;          // whether texts of decoder-only models begin with the begin mark
  bool endsSources = true;          // whether the source of a translation ends with the end mark
  std::vector<int32_t> sourceBegin; // the marks before the text of a translation's source, such as BART's begin mark
  bool hasTypes = false;            // whether the model is told to which of two sentences each token belongs
  int64_t neighbours = 0;           // the most edges to a token and from a token; 0: the model gets no edges
  int64_t sentences = 0;            // the most sentences per text; 0: the model gets no sentences
  bool prefers = false;             // whether records are pairs of answers, of which the model learns to prefer one
  bool joinsPairs = false;          // whether both texts of a pair are sequences of the source
  ImageShape image;                 // shape of the images, if the model takes images instead of texts

  // The number of marks that a call adds to a translation's source.
  int64_t sourceMarks() const { return endsSources ? 1 : 0; }
  // The rows that a source takes in a call: an image's pixels, or a sentence of that many tokens with its marks.
  int64_t sourceRows(size_t tokens) const {
    return image.pixels() > 0 ? image.pixels() : int64_t(tokens) + sourceMarks();
  }
  // The tokens of a source's text behind the marks that it begins with. Nothing if the text has no tokens.
  std::vector<int32_t> beginSource(std::vector<int32_t> text) const {
    if (!text.empty())
      text.insert(text.begin(), sourceBegin.begin(), sourceBegin.end());
    return text;
  }
  // Returns the tokens of a source with the end mark, if sources end with one. Images have no tokens.
  std::vector<int32_t> markSource(std::span<const int32_t> sentence) const {
    std::vector<int32_t> tokens(sentence.begin(), sentence.end());
    if (endsSources && image.pixels() == 0)
      tokens.push_back(end);
    return tokens;
  }
};

} // namespace heddle
