// The tokens that a call adds to texts, and what else a model is told of them.
#pragma once

#include "runtime/artifact/Description.h"
#include "runtime/text/Tokenizer.h"

#include <cstdint>

namespace heddle {

// The token before every target sentence and the one after every sentence.
struct Marks {
  int32_t begin = kBeginId;
  int32_t end = kEndId;
  bool beginsTexts = true; // whether texts of a decoder alone begin with the begin mark
  bool endsSources = true; // whether the source of a translation ends with the end mark
  bool hasTypes = false;   // whether the model is told of each token which of two sentences it is of
  int64_t neighbours = 0;  // the most edges to a token, and from it; 0: the model is told of no edges
  int64_t sentences = 0;   // the most sentences of a text; 0: the model is not told of sentences
  ImageShape image;        // of the model's images, if it takes images in place of texts

  // Marks that a call adds to the source of a translation.
  int64_t sourceMarks() const { return endsSources ? 1 : 0; }
  // Rows of a call that a source takes: a sentence of that many tokens with its marks, or an image.
  int64_t sourceRows(size_t tokens) const {
    return image.pixels() > 0 ? image.pixels() : int64_t(tokens) + sourceMarks();
  }
};

} // namespace heddle
