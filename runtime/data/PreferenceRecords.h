// Records of preferences, one JSON record per line: two answers to a prompt, the preferred one first.
//   {"prompt": "...", "chosen": "...", "rejected": "..."}
//   {"messages": [...], "chosen": "...", "rejected": "..."}: two answers of the assistant to a conversation; "prompt" may
//   hold the messages, too, and an answer may be a message or a list of messages
#pragma once

#include "runtime/data/TextRecords.h"

namespace heddle {

struct PreferenceRecord {
  TextRecord chosen, rejected;

  // Fails if the line is no such record. `origin` names the line in errors, as in "'train.jsonl' line 3".
  static Result<PreferenceRecord> parse(std::string_view line, const std::string &origin,
                                        const ConversationReader &chat);
};

// The text of a line from which a vocabulary is learnt: the prompt and both answers. Empty for a conversation.
std::string textOfPreferenceRecord(std::string_view line);

// An example has both texts: `target` is the chosen one and `other` the rejected one. A record is left out if either has
// more than `maximumLength` predicted tokens.
class PreferenceRecords final : public RecordExamples {
public:
  PreferenceRecords(const LineBlocks &records, const TextCodec &vocabulary, int64_t maximumLength, const Marks &marks,
                    ConversationReader chat)
      : RecordExamples(records, vocabulary, maximumLength, marks), chat(std::move(chat)) {}

private:
  Status addRecord(std::string_view line, const std::string &origin, Examples &examples,
                   CorpusReport &report) const override;

  ConversationReader chat;
};

} // namespace heddle
