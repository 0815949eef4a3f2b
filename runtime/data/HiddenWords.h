// Masked training on plain text without labels (Devlin et al., "BERT", 2018, 3.1). Examples are pairs of sentences with
// some words hidden. The second sentence follows the first or is a random other one. A sentence is a line. Or they are
// whole documents (Liu et al., "RoBERTa", 2019, 4.2), cut into sequences.
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

// Both kinds of examples. The text is opened with TextDocuments::blockBegin(kind), and the vocabulary has a mask.
// `maximumLength` includes the marks.
class HiddenText : public LineExamples {
public:
  HiddenText(const LineBlocks &text, const TextCodec &vocabulary, DocumentKind kind, int64_t maximumLength,
             const Marks &marks)
      : LineExamples(text, vocabulary, maximumLength, marks), kind(kind) {}

  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const final;

protected:
  using Document = std::vector<std::vector<int32_t>>; // its sentences
  // Adds the examples of a block's documents. Returns how many there are.
  virtual uint64_t addDocuments(std::span<const Document> documents, OrderRandom &random, Examples &examples) const = 0;
  // Adds an example of these tokens, marks included, with some of them hidden; `example` has what else belongs to it.
  // Returns false, and adds nothing, if none can be guessed.
  bool addHidden(std::span<const int32_t> tokens, Example example, OrderRandom &random, Examples &examples) const;

private:
  std::vector<Document> readDocuments(size_t block, std::span<const std::string> lines, CorpusReport &report) const;

  DocumentKind kind;
};

// Pairs of sentences. In pairs that are too long the longer sentence is truncated.
class HiddenWords final : public HiddenText {
public:
  using HiddenText::HiddenText;

private:
  uint64_t addDocuments(std::span<const Document> documents, OrderRandom &random, Examples &examples) const override;
  void addPair(std::vector<int32_t> first, std::vector<int32_t> second, int32_t follows, OrderRandom &random,
               Examples &examples) const;
};

// Documents, cut into sequences, each with the marks of an encoder's input.
class MaskedDocuments final : public HiddenText {
public:
  using HiddenText::HiddenText;

private:
  uint64_t addDocuments(std::span<const Document> documents, OrderRandom &random, Examples &examples) const override;
};

} // namespace heddle
