// Masked training on plain text without labels (Devlin et al., "BERT", 2018, 3.1). Examples are pairs of sentences with
// some words hidden. The second sentence follows the first or is a random other one. A sentence is a line.
#pragma once

#include "runtime/data/Documents.h"
#include "runtime/data/OrderRandom.h"

#include <span>
#include <vector>

namespace heddle {

// Hides 15% of the tokens, at least one, to be guessed: 80% of them become the mask, 10% a random token, and 10% stay.
struct HiddenTokens {
  std::vector<int32_t> tokens; // as the model sees them
  std::vector<int32_t> labels; // the original token, or negative if there is nothing to guess
};
HiddenTokens hideTokens(std::span<const int32_t> tokens, const TextCodec &vocabulary, Marks marks, OrderRandom &random);

class HiddenWords final : public LineExamples {
public:
  // The text is opened with TextDocuments::blockBegin(kind), and the vocabulary has a mask. `maximumLength` includes the
  // marks. In longer pairs the longer sentence is truncated.
  HiddenWords(const LineBlocks &text, const TextCodec &vocabulary, DocumentKind kind, int64_t maximumLength,
              const Marks &marks)
      : LineExamples(text, vocabulary, maximumLength, marks), kind(kind) {}

  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  using Document = std::vector<std::vector<int32_t>>; // its sentences
  std::vector<Document> readDocuments(size_t block, std::span<const std::string> lines, CorpusReport &report) const;
  void addPair(std::vector<int32_t> first, std::vector<int32_t> second, int32_t follows, OrderRandom &random,
               Examples &examples) const;

  DocumentKind kind;
};

} // namespace heddle
