#include "runtime/data/Documents.h"

#include "runtime/core/Span.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

uint64_t addDocument(std::span<const int32_t> document, int64_t maximumLength, Examples &examples) {
  uint64_t count = 0;
  for (; document.size() > 1; ++count) {
    size_t predicted = std::min(size_t(maximumLength), document.size() - 1);
    examples.add({.target = document.first(predicted + 1)});
    document = document.subspan(predicted);
  }
  return count;
}

std::vector<int32_t> TextDocuments::encode(std::string_view document, bool isBegun, bool isEnded) const {
  std::vector<int32_t> tokens = vocabulary.encode(document);
  if (tokens.empty())
    return tokens;
  if (isBegun && marks.beginsTexts)
    tokens.insert(tokens.begin(), marks.begin);
  if (isEnded)
    tokens.push_back(marks.end);
  return tokens;
}

CorpusReport TextDocuments::readDocuments(size_t block, std::span<const std::string> lines, Examples &examples) const {
  CorpusReport report{.unit = "document"};
  auto lineEndsDocument = [&](size_t i) {
    return kind == DocumentKind::Line || i + 1 == lines.size() || isBlank(lines[i + 1]);
  };
  std::string document;
  uint64_t invalidLine = 0; // first invalid line of the document; 0: all lines are valid
  for (size_t i = 0; i < lines.size(); ++i) {
    if (isBlank(lines[i]))
      continue;
    document += lines[i];
    if (invalidLine == 0 && !isValidUtf8(lines[i]))
      invalidLine = text.firstLineOf(block) + i;
    if (!lineEndsDocument(i)) {
      document += '\n';
      continue;
    }
    ++report.read;
    if (invalidLine != 0)
      report.noteInvalid(invalidLine, text.source().string());
    else if (std::vector<int32_t> tokens = encode(document, true, true); tokens.empty())
      ++report.blank;
    else
      report.sequences += addDocument(tokens, maximumLength, examples);
    document.clear();
    invalidLine = 0;
  }
  return report;
}

CorpusReport TextDocuments::readPart(size_t block, std::span<const std::string> lines, Examples &examples) const {
  CorpusReport report{.unit = "line"};
  std::string part;
  for (size_t i = 0; i < lines.size(); ++i) {
    ++report.read;
    if (isValidUtf8(lines[i]))
      part.append(lines[i]).append("\n");
    else
      report.noteInvalid(text.firstLineOf(block) + i, text.source().string());
  }
  std::vector<int32_t> tokens = encode(part, block == 0, block + 1 == blocks());
  report.sequences = addDocument(tokens, maximumLength, examples);
  return report;
}

Status TextDocuments::read(size_t block, Draw, Examples &examples, CorpusReport &report) const {
  Span reading("read and tokenise block");
  HEDDLE_ASSIGN(std::vector<std::string> lines, text.readSource(block));
  reading.with("block", int64_t(block)).with("lines", int64_t(lines.size()));
  report.add(kind == DocumentKind::File ? readPart(block, lines, examples) : readDocuments(block, lines, examples));
  return Success();
}

} // namespace heddle
