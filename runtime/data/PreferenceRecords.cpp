#include "runtime/data/PreferenceRecords.h"

#include "runtime/core/Json.h"
#include "runtime/text/Utf8.h"

namespace heddle {
namespace {

constexpr const char *kMessages = "messages", *kPrompt = "prompt", *kChosen = "chosen", *kRejected = "rejected";

bool isMessages(const nlohmann::json &value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const nlohmann::json &one) { return one.is_object(); });
}

// Returns the messages of an answer: a string, a message or a list of messages. Null if it is neither.
nlohmann::json messagesOf(const nlohmann::json &answer) {
  if (answer.is_string())
    return nlohmann::json::array({{{"role", "assistant"}, {"content", answer}}});
  if (answer.is_object())
    return nlohmann::json::array({answer});
  return isMessages(answer) ? answer : nlohmann::json();
}

// Returns the conversation that ends with the answer, whose text alone is learnt.
Result<TextRecord> conversationWith(nlohmann::json record, const nlohmann::json &before, const nlohmann::json &answer,
                                    const std::string &origin, const ConversationReader &chat) {
  for (const char *key : {kPrompt, kChosen, kRejected})
    record.erase(key);
  record[kMessages] = before;
  for (const nlohmann::json &message : answer)
    record[kMessages].push_back(message);
  HEDDLE_ASSIGN(std::vector<RecordPart> parts, chat(record.dump(), origin));
  // The assistant's earlier messages are part of the prompt.
  bool isLast = true;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    bool isAnswer = part->isLearnt && isLast;
    isLast &= !part->isLearnt;
    part->isLearnt = isAnswer;
  }
  return TextRecord{std::move(parts), true};
}

} // namespace

Result<PreferenceRecord> PreferenceRecord::parse(std::string_view line, const std::string &origin,
                                                 const ConversationReader &chat) {
  auto bad = [&](std::string_view what) {
    return makeError(ErrorKind::Malformed, origin, " ", what,
                     R"(; each line is a record such as {"prompt": "2 + 2 =", "chosen": " 4", "rejected": " 5"} or )"
                     R"({"messages": [...], "chosen": "4", "rejected": "5"}.)");
  };
  if (!isValidUtf8(line))
    return bad("is not UTF-8");
  Result<nlohmann::json> json = parseJson(line, origin);
  if (!json.ok() || !json->is_object())
    return bad("is not a JSON object");
  if (!json->contains(kChosen) || !json->contains(kRejected))
    return bad(json->contains(kChosen) ? "has no \"rejected\" answer" : "has no \"chosen\" answer");
  const nlohmann::json &chosen = (*json)[kChosen], &rejected = (*json)[kRejected];
  if (json->contains(kPrompt) == json->contains(kMessages))
    return bad("needs either a \"prompt\" or \"messages\"");
  const nlohmann::json &prompt = (*json)[json->contains(kPrompt) ? kPrompt : kMessages];
  if (prompt.is_string() && json->contains(kPrompt) && chosen.is_string() && rejected.is_string()) {
    auto text = [&](const nlohmann::json &answer) {
      return TextRecord{{{prompt.get<std::string>(), false}, {answer.get<std::string>(), true}}, false};
    };
    return PreferenceRecord{text(chosen), text(rejected)};
  }
  nlohmann::json first = messagesOf(chosen), second = messagesOf(rejected);
  if (!isMessages(prompt) || first.is_null() || second.is_null())
    return bad("has a prompt or an answer that is neither a string nor messages");
  PreferenceRecord record;
  HEDDLE_ASSIGN(record.chosen, conversationWith(*json, prompt, first, origin, chat));
  HEDDLE_ASSIGN(record.rejected, conversationWith(*json, prompt, second, origin, chat));
  return record;
}

std::string textOfPreferenceRecord(std::string_view line) {
  auto none = [](std::string_view, const std::string &) { return Result(std::vector<RecordPart>()); };
  Result<PreferenceRecord> record = PreferenceRecord::parse(line, "", none); // mistakes were reported earlier
  std::string text;
  if (record.ok() && !record->chosen.hasMarks)
    text = record->chosen.parts[0].text + record->chosen.parts[1].text + record->rejected.parts[1].text;
  return text;
}

Status PreferenceRecords::addRecord(std::string_view line, const std::string &origin, Examples &examples,
                                    CorpusReport &report) const {
  HEDDLE_ASSIGN(PreferenceRecord record, PreferenceRecord::parse(line, origin, chat));
  MarkedRecord chosen = MarkedRecord::of(record.chosen, vocabulary, marks);
  MarkedRecord rejected = MarkedRecord::of(record.rejected, vocabulary, marks);
  report.recut += chosen.isRecut || rejected.isRecut;
  if (!chosen.isPredicted() || !rejected.isPredicted())
    ++report.blank;
  else if (std::max(chosen.predictedTokens(), rejected.predictedTokens()) > maximumLength)
    ++report.overLong;
  else
    examples.add(
        {.target = chosen.tokens, .learnt = chosen.learnt, .other = rejected.tokens, .otherLearnt = rejected.learnt});
  return Success();
}

} // namespace heddle
