// Plain text as a corpus: documents, each with a mark before and behind it, cut into sequences.
#pragma once

#include "runtime/text/Batches.h"

#include <span>
#include <string>

namespace heddle {

// What a document is: a line; the lines between blank lines; or the whole file.
enum class DocumentKind { Line, BetweenBlankLines, File };

struct TextLimits {
  int64_t maximumLength = 0; // tokens of a sequence that are predicted
  Marks marks = {};
};

class TextDocuments final : public ExampleBlocks {
public:
  // The text is opened with blockBegin(kind). Text and vocabulary outlive this.
  TextDocuments(const LineBlocks &text, const TextCodec &vocabulary, DocumentKind kind, TextLimits limits)
      : text(text), vocabulary(vocabulary), kind(kind), limits(limits) {}

  static BlockBegin blockBegin(DocumentKind kind) {
    return kind == DocumentKind::BetweenBlankLines ? BlockBegin::AfterBlankLine : BlockBegin::AnyLine;
  }

  size_t blocks() const override { return text.blocks(); }
  uint64_t linesPerBlock() const override { return text.linesPerBlock(); }
  const std::string &fingerprint() const override { return text.fingerprint(); }
  // A block of a file that is one document is a part of it: the first part alone has the begin mark, the last part the
  // end mark, and the first token of another part is not predicted.
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  CorpusReport readDocuments(size_t block, std::span<const std::string> lines, Examples &examples) const;
  CorpusReport readPart(size_t block, std::span<const std::string> lines, Examples &examples) const;
  std::vector<int32_t> encode(std::string_view document, bool isBegun, bool isEnded) const;

  const LineBlocks &text;
  const TextCodec &vocabulary;
  DocumentKind kind;
  TextLimits limits;
};

// Cuts a document into sequences of at most `maximumLength` tokens to predict. Each begins with the last token of the
// sequence before it, so that every token of the document but the first is predicted once. Returns how many there are.
uint64_t addDocument(std::span<const int32_t> document, int64_t maximumLength, Examples &examples);

} // namespace heddle
