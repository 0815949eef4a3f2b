// Computes a vector for each line, with an encoder or a decoder alone.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/EmbeddingRule.h"
#include "runtime/model/Engine.h"
#include "runtime/model/LineWork.h"
#include "runtime/tokenizers/EncoderInput.h"

#include <deque>
#include <string_view>
#include <vector>

namespace heddle {

struct EmbeddedLine {
  std::vector<float> vector;
  size_t tokens = 0; // that the model read, marks included
};

class Embedder {
public:
  // The vocabulary must outlive this object. checkEmbeds() has passed.
  Embedder(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, EmbeddingRule rule);

  // The tokens of a text, marks included. A text without tokens gets a begin mark.
  EncoderInput encode(std::string_view text) const;
  // Adds the next line, which may be empty. A text that is too long for the model or the rule is cut, with a warning.
  void add(std::string_view line);
  // Adds the next text as its tokens, marks included: 1 to longestText() of them.
  void add(std::vector<int32_t> tokens) { waiting.push_back({lines.add(), std::move(tokens)}); }
  size_t longestText() const { return longest; }
  // Runs one call, for as many lines as fit. Fails if a hidden state is no number.
  Status step();
  std::vector<EmbeddedLine> take() { return lines.take(); }
  // See InOrder::skipTo.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // Lines added but not yet taken; busy() if any of them still need steps.
  uint64_t held() const { return lines.held(); }
  bool busy() const { return !waiting.empty(); }

private:
  struct Job {
    uint64_t number;
    std::vector<int32_t> tokens;
  };

  Engine &engine;
  const ModelDescription &model;
  const TextCodec &vocabulary;
  EmbeddingRule rule;
  InputMarks marks;
  size_t longest; // tokens of a text, marks included
  std::deque<Job> waiting;
  InOrder<EmbeddedLine> lines;
};

// Fails if the artifact has no entry `encode` that computes a hidden state for each token.
Status checkEmbeds(const Engine &engine);

} // namespace heddle
