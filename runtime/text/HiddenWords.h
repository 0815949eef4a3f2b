// Plain text to learn from without labels (Devlin et al., "BERT", 2018, 3.1): pairs of sentences, of which the second
// follows the first or is any other, and of which some words are hidden. A sentence is a line.
#pragma once

#include "runtime/text/Documents.h"
#include "runtime/text/OrderRandom.h"

#include <span>
#include <vector>

namespace heddle {

// Tokens that are to be guessed: 15%, at least one. Of these 80% become the mask, 10% any token, and 10% stay.
struct HiddenTokens {
  std::vector<int32_t> tokens; // as the model sees them
  std::vector<int32_t> labels; // what they were, and below 0 where there is nothing to guess
};
HiddenTokens hideTokens(std::span<const int32_t> tokens, const TextCodec &vocabulary, Marks marks, OrderRandom &random);

class HiddenWords final : public ExampleBlocks {
public:
  // The text is opened with TextDocuments::blockBegin(kind). Text and vocabulary, which has a mask, outlive this.
  // `maximumLength` counts the marks; of longer pairs the longer sentence loses its end.
  HiddenWords(const LineBlocks &text, const TextCodec &vocabulary, DocumentKind kind, int64_t maximumLength,
              Marks marks)
      : text(text), vocabulary(vocabulary), kind(kind), maximumLength(maximumLength), marks(marks) {}

  size_t blocks() const override { return text.blocks(); }
  uint64_t linesPerBlock() const override { return text.linesPerBlock(); }
  const std::string &fingerprint() const override { return text.fingerprint(); }
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  using Document = std::vector<std::vector<int32_t>>; // its sentences
  std::vector<Document> readDocuments(size_t block, std::span<const std::string> lines, CorpusReport &report) const;
  void addPair(std::vector<int32_t> first, std::vector<int32_t> second, bool follows, OrderRandom &random,
               Examples &examples) const;

  const LineBlocks &text;
  const TextCodec &vocabulary;
  DocumentKind kind;
  int64_t maximumLength;
  Marks marks;
};

} // namespace heddle
