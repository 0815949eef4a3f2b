// The text that a command reads: two files of sentence pairs, or a file of plain text.
#pragma once

#include "tools/heddle-run/text/Documents.h"

#include <filesystem>
#include <memory>
#include <string>

namespace heddle::run {

struct TextFiles {
  std::string source, target; // of pairs
  std::string text;           // plain
  std::string documents = "lines";

  bool empty() const { return source.empty() && target.empty() && text.empty(); }
  bool isPlain() const { return !text.empty(); }
  DocumentKind kind() const;
  std::string named() const; // "'a.en' and 'a.de'", "'a.txt'"
  const char *unit() const { return isPlain() ? "document" : "pair"; }

  // A decompressed copy, where one is needed, lies in `spool`.
  Result<LineBlocks> open(const std::filesystem::path &spool) const;
  // Of the text that was opened. Text and vocabulary outlive the examples.
  std::unique_ptr<ExampleBlocks> examples(const LineBlocks &opened, const TextCodec &vocabulary,
                                          const BatchLimits &limits) const;
};

// All examples of a text, packed in their order; the report says what was left out. Fails where there is nothing to
// `use`: "score", "use".
struct PackedText {
  std::vector<Batch> batches;
  CorpusReport report;
};
Result<PackedText> packText(const TextFiles &files, const LineBlocks &opened, const TextCodec &vocabulary,
                            const BatchLimits &limits, const char *use);

} // namespace heddle::run
