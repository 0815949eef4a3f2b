// The text that a command reads: two files of sentence pairs, one file of plain text, or one file of records.
#pragma once

#include "runtime/data/Documents.h"
#include "runtime/data/TextRecords.h"
#include "runtime/model/Description.h"

#include <filesystem>
#include <memory>
#include <string>

namespace heddle {

struct TextFiles {
  std::string source, target; // of pairs
  std::string text;           // plain
  std::string data;           // records
  std::string documents = "lines";

  bool empty() const { return source.empty() && target.empty() && text.empty() && data.empty(); }
  bool isOneKind() const {
    return source.empty() == target.empty() && int(!source.empty()) + int(isPlain()) + int(isRecords()) == 1;
  }
  bool isPlain() const { return !text.empty(); }
  bool isRecords() const { return !data.empty(); }
  TextKind textKind() const { return isPlain() ? TextKind::Plain : isRecords() ? TextKind::Records : TextKind::Pairs; }
  // Returns the flags of a validation text of this kind, such as "--valid-text".
  const char *validationFlags() const;
  DocumentKind kind() const;
  std::string named() const; // "'a.en' and 'a.de'", "'a.txt'"
  const char *unit() const { return isPlain() ? "document" : isRecords() ? "record" : "pair"; }

  // Fails if the model does not take this kind of text.
  Status check(const ModelDescription &model, std::string_view command) const;

  // Opens the text. If a decompressed copy is needed, it is put into `spool`.
  Result<LineBlocks> open(const std::filesystem::path &spool) const;
  // Returns the examples of the opened text. Text and vocabulary must outlive them.
  std::unique_ptr<ExampleBlocks> examples(const LineBlocks &opened, const TextCodec &vocabulary,
                                          const BatchLimits &limits, Labelling labelling,
                                          const ConversationReader &chat) const;
};

// All examples of a text, packed in their order; the report says what was left out. Fails if there is nothing to `use`
// ("score", "use").
struct PackedText {
  std::vector<Batch> batches;
  CorpusReport report;
};
// Fails if words of the text are to be hidden, and the vocabulary or the length does not allow it.
Status checkHides(const TextCodec &vocabulary, const BatchLimits &limits, Labelling labelling);
Result<PackedText> packText(const TextFiles &files, const LineBlocks &opened, const TextCodec &vocabulary,
                            const BatchLimits &limits, Labelling labelling, const ConversationReader &chat,
                            const char *use);

} // namespace heddle
