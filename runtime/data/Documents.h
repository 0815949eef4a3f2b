// Plain text as a corpus: documents, each between a begin and an end mark, cut into sequences.
#pragma once

#include "runtime/data/Batches.h"

#include <span>
#include <string>

namespace heddle {

// A document is a line, the lines between two blank lines, or the whole file.
enum class DocumentKind { Line, BetweenBlankLines, File };

class TextDocuments final : public LineExamples {
public:
  // The text is opened with blockBegin(kind). `maximumLength` counts the predicted tokens of a sequence.
  TextDocuments(const LineBlocks &text, const TextCodec &vocabulary, DocumentKind kind, int64_t maximumLength,
                const Marks &marks)
      : LineExamples(text, vocabulary, maximumLength, marks), kind(kind) {}

  static BlockBegin blockBegin(DocumentKind kind) {
    return kind == DocumentKind::BetweenBlankLines ? BlockBegin::AfterBlankLine : BlockBegin::AnyLine;
  }

  // If the file is one document, a block is a part of it. Only the first part has the begin mark, and only the last
  // part has the end mark. The first token of each other part is not predicted.
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  CorpusReport readDocuments(size_t block, std::span<const std::string> lines, Examples &examples) const;
  CorpusReport readPart(size_t block, std::span<const std::string> lines, Examples &examples) const;
  std::vector<int32_t> encode(std::string_view document, bool isBegun, bool isEnded) const;

  DocumentKind kind;
};

// Cuts a document into sequences of at most `maximumLength` predicted tokens. Each sequence begins with the last token
// of the one before it, so that every token of the document but the first is predicted once. Returns the number of
// sequences.
uint64_t addDocument(std::span<const int32_t> document, int64_t maximumLength, Examples &examples);

} // namespace heddle
