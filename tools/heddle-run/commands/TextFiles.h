// The text that a command reads: two files of sentence pairs, a file of plain text, or a file of records.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/text/Documents.h"
#include "runtime/text/TextRecords.h"

#include <filesystem>
#include <memory>
#include <string>

namespace heddle::run {

struct TextFiles {
  std::string source, target; // of pairs
  std::string text;           // plain
  std::string data;           // records
  std::string documents = "lines";

  bool empty() const { return source.empty() && target.empty() && text.empty() && data.empty(); }
  bool isPlain() const { return !text.empty(); }
  bool isRecords() const { return !data.empty(); }
  TextKind textKind() const { return isPlain() ? TextKind::Plain : isRecords() ? TextKind::Records : TextKind::Pairs; }
  // The flags of a validation text of this kind: "--valid-text".
  const char *validationFlags() const;
  DocumentKind kind() const;
  std::string named() const; // "'a.en' and 'a.de'", "'a.txt'"
  const char *unit() const { return isPlain() ? "document" : isRecords() ? "record" : "pair"; }

  // Fails where a model does not take such text.
  Status check(const ModelDescription &model, std::string_view command) const;

  // A decompressed copy, where one is needed, lies in `spool`.
  Result<LineBlocks> open(const std::filesystem::path &spool) const;
  // Of the text that was opened. Text and vocabulary outlive the examples.
  std::unique_ptr<ExampleBlocks> examples(const LineBlocks &opened, const TextCodec &vocabulary,
                                          const BatchLimits &limits, Labelling labelling,
                                          const ConversationReader &chat) const;
};

// All examples of a text, packed in their order; the report says what was left out. Fails where there is nothing to
// `use`: "score", "use".
struct PackedText {
  std::vector<Batch> batches;
  CorpusReport report;
};
Result<PackedText> packText(const TextFiles &files, const LineBlocks &opened, const TextCodec &vocabulary,
                            const BatchLimits &limits, Labelling labelling, const ConversationReader &chat,
                            const char *use);

} // namespace heddle::run
