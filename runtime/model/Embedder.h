// Computes a vector for each line, with an encoder or a model that has only a decoder.
#pragma once

#include "runtime/model/EmbeddingRule.h"
#include "runtime/model/EncoderWork.h"
#include "runtime/tokenizers/EncoderInput.h"

#include <string_view>
#include <vector>

namespace heddle {

struct EmbeddedLine {
  std::vector<float> vector;
  size_t tokens = 0; // that the model read, marks included
};

// A text's tokens, marks included.
struct TextToEmbed {
  uint64_t number;
  std::vector<int32_t> tokens;

  Example example() const { return {.source = tokens}; }
};

// A model of the task `embed` makes the vector of a text itself; of other models' hidden states the rule makes it. A step
// fails if a hidden state is no number.
class Embedder final : public EncoderWork<TextToEmbed, EmbeddedLine> {
public:
  // checkEmbeds() has passed.
  Embedder(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, EmbeddingRule rule);

  // The tokens of a text, marks included. A text without tokens gets a begin mark.
  EncoderInput encode(std::string_view text) const;
  // Adds the next line, which may be empty. A text that is too long for the model or the rule is cut, with a warning.
  Status add(std::string_view line);
  // Adds the next text as its tokens: 1 to longestText() of them.
  void add(std::vector<int32_t> tokens) { waiting.push_back({lines.add(), std::move(tokens)}); }
  size_t longestText() const { return longest; }

private:
  Result<EmbeddedLine> answer(const TextToEmbed &text, size_t index, const PackedSequences &texts,
                              const HostTensor &output) const override;

  EmbeddingRule rule;
  InputMarks marks;
  size_t longest; // tokens of a text, marks included
};

// Fails if the artifact has no entry `encode` that computes a hidden state for each token.
Status checkEmbeds(const Engine &engine);

} // namespace heddle
