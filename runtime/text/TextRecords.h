// Records for a decoder alone, one of JSON on each line: {"prompt": "...", "completion": "..."}, of which the loss is
// of the completion and the end mark; {"text": "..."}, of which it is of all tokens; or {"messages": [...]}, a
// conversation, of which it is of what the assistant says.
#pragma once

#include "runtime/text/Batches.h"
#include "runtime/text/Corpus.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A part of a record's text, and whether a model learns to write it.
struct RecordPart {
  std::string text;
  bool isLearnt = false;
};

// Makes the text of a record with "messages", its marks among it. `origin` is the line's place, for errors.
using ConversationReader =
    std::function<Result<std::vector<RecordPart>>(std::string_view line, const std::string &origin)>;

struct TextRecord {
  std::vector<RecordPart> parts;
  bool hasMarks = false; // the text has the marks at its begin and end

  // Fails where the line is no such record; `origin` is the line's place, as in "'train.jsonl' line 3".
  static Result<TextRecord> parse(std::string_view line, const std::string &origin, const ConversationReader &chat);
};

// The tokens of a record, without marks that its text does not have.
struct TextRecordTokens {
  std::vector<int32_t> tokens;
  std::vector<TokenRange> learnt;
  // Whether the record's whole text has other tokens: one of them crosses a part's end. Each part is then encoded as a
  // continuation of those before it.
  bool isRecut = false;

  static TextRecordTokens of(const TextRecord &record, const TextCodec &vocabulary);
};

// Fails at the first line that is no record.
Status checkTextRecords(const LineBlocks &file, const ConversationReader &chat);

// A line as a vocabulary is learnt from it: the texts of its parts. Empty for a conversation.
std::string textOfTextRecord(std::string_view line);

class TextRecords final : public ExampleBlocks {
public:
  // `maximumLength` counts the tokens that are predicted. Records and vocabulary outlive this.
  TextRecords(const LineBlocks &records, const TextCodec &vocabulary, int64_t maximumLength, Marks marks,
              ConversationReader chat)
      : records(records), vocabulary(vocabulary), maximumLength(maximumLength), marks(marks), chat(std::move(chat)) {}

  size_t blocks() const override { return records.blocks(); }
  uint64_t linesPerBlock() const override { return records.linesPerBlock(); }
  const std::string &fingerprint() const override { return records.fingerprint(); }
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  const LineBlocks &records;
  const TextCodec &vocabulary;
  int64_t maximumLength;
  Marks marks;
  ConversationReader chat;
};

} // namespace heddle
