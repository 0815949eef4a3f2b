// Records for decoder-only models, one JSON record per line:
//   {"prompt": "...", "completion": "..."}: the loss covers the completion and the end mark
//   {"text": "..."}: the loss covers all tokens
//   {"messages": [...]}: a conversation; the loss covers what the assistant says
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/data/Corpus.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// A part of a record's text. `isLearnt` is true if the model learns to write it.
struct RecordPart {
  std::string text;
  bool isLearnt = false;
};

// Makes the text of a record with "messages", including its marks. `origin` names the line in errors.
using ConversationReader =
    std::function<Result<std::vector<RecordPart>>(std::string_view line, const std::string &origin)>;

struct TextRecord {
  std::vector<RecordPart> parts;
  bool hasMarks = false; // the text includes the begin and end marks

  // Fails if the line is no such record. `origin` names the line in errors, as in "'train.jsonl' line 3".
  static Result<TextRecord> parse(std::string_view line, const std::string &origin, const ConversationReader &chat);
};

// The tokens of a record, without marks other than those in its text.
struct TextRecordTokens {
  std::vector<int32_t> tokens;
  std::vector<TokenRange> learnt;
  // True if encoding the whole text gives other tokens, because a token would cross the end of a part. Each part is
  // then encoded as a continuation of the parts before it.
  bool isRecut = false;

  static TextRecordTokens of(const TextRecord &record, const TextCodec &vocabulary);
};

// The tokens of a record with the marks that the model sees, and those that it learns to write.
struct MarkedRecord {
  std::vector<int32_t> tokens;
  std::vector<TokenRange> learnt;
  bool isRecut = false;

  static MarkedRecord of(const TextRecord &record, const TextCodec &vocabulary, const Marks &marks);
  // Whether the model predicts a token that counts. The first token is never predicted.
  bool isPredicted() const;
  int64_t predictedTokens() const { return int64_t(tokens.size()) - 1; }
};

// Fails at the first line that is no such record.
template <typename Record> Status checkRecords(const LineBlocks &file, const ConversationReader &chat) {
  return forEachRecord(file, [&](std::string_view line, const std::string &origin) -> Status {
    HEDDLE_CHECK(Record::parse(line, origin, chat));
    return Success();
  });
}

// The text of a line from which a vocabulary is learnt: all parts of the record. Empty for a conversation.
std::string textOfTextRecord(std::string_view line);

// `maximumLength` counts predicted tokens.
class TextRecords final : public RecordExamples {
public:
  TextRecords(const LineBlocks &records, const TextCodec &vocabulary, int64_t maximumLength, const Marks &marks,
              ConversationReader chat)
      : RecordExamples(records, vocabulary, maximumLength, marks), chat(std::move(chat)) {}

private:
  Status addRecord(std::string_view line, const std::string &origin, Examples &examples,
                   CorpusReport &report) const override;

  ConversationReader chat;
};

} // namespace heddle
