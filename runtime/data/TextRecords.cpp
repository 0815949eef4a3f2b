#include "runtime/data/TextRecords.h"

#include "runtime/core/Json.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

Result<TextRecord> TextRecord::parse(std::string_view line, const std::string &origin, const ConversationReader &chat) {
  auto bad = [&](std::string_view what) {
    return makeError(
        ErrorKind::Malformed, origin, " ", what,
        R"(; each line is a record such as {"prompt": "2 + 2 =", "completion": " 4"}, {"text": "2 + 2 = 4"} or {"messages": [...]}.)");
  };
  if (!isValidUtf8(line))
    return bad("is not UTF-8");
  Result<nlohmann::json> json = parseJson(line, origin);
  if (!json.ok())
    return bad("is not JSON");
  auto has = [&](const char *key) { return json->is_object() && json->contains(key); };
  auto text = [&](const char *key) {
    bool isText = has(key) && (*json)[key].is_string();
    return isText ? std::optional((*json)[key].get<std::string>()) : std::nullopt;
  };
  std::optional<std::string> prompt = text("prompt"), completion = text("completion"), whole = text("text");
  if (prompt && completion && !whole && !has("messages"))
    return TextRecord{{{std::move(*prompt), false}, {std::move(*completion), true}}, false};
  if (whole && !prompt && !completion && !has("messages"))
    return TextRecord{{{std::move(*whole), true}}, false};
  if (has("messages") && !prompt && !completion && !whole) {
    HEDDLE_ASSIGN(std::vector<RecordPart> parts, chat(line, origin));
    return TextRecord{std::move(parts), true};
  }
  return bad("has neither a \"prompt\" with a \"completion\", both strings, nor a \"text\" or \"messages\" alone");
}

std::string textOfTextRecord(std::string_view line) {
  auto none = [](std::string_view, const std::string &) { return Result(std::vector<RecordPart>()); };
  Result<TextRecord> record = TextRecord::parse(line, "", none); // lines that are no records were reported earlier
  std::string text;
  if (record.ok())
    for (const RecordPart &part : record->parts)
      text += part.text;
  return text;
}

TextRecordTokens TextRecordTokens::of(const TextRecord &record, const TextCodec &vocabulary) {
  std::string whole;
  for (const RecordPart &part : record.parts)
    whole += part.text;
  TextRecordTokens result{vocabulary.encode(whole), {}, false};
  std::vector<size_t> ends; // end of each part, in tokens
  std::string before;
  for (const RecordPart &part : record.parts) {
    before += part.text;
    std::vector<int32_t> tokens = before.size() == whole.size() ? result.tokens : vocabulary.encode(before);
    result.isRecut |=
        tokens.size() > result.tokens.size() ||
        !std::ranges::equal(std::span(result.tokens).first(std::min(tokens.size(), result.tokens.size())), tokens);
    ends.push_back(tokens.size());
  }
  if (result.isRecut) {
    result.tokens.clear();
    ends.clear();
    for (const RecordPart &part : record.parts) {
      std::vector<int32_t> tokens =
          ends.empty() ? vocabulary.encode(part.text) : vocabulary.encodeContinuation(part.text);
      result.tokens.insert(result.tokens.end(), tokens.begin(), tokens.end());
      ends.push_back(result.tokens.size());
    }
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    auto begin = uint32_t(i == 0 ? 0 : ends[i - 1]), end = uint32_t(ends[i]);
    if (record.parts[i].isLearnt && begin < end)
      result.learnt.push_back({begin, end});
  }
  return result;
}

MarkedRecord MarkedRecord::of(const TextRecord &record, const TextCodec &vocabulary, const Marks &marks) {
  TextRecordTokens encoded = TextRecordTokens::of(record, vocabulary);
  MarkedRecord result{std::move(encoded.tokens), std::move(encoded.learnt), encoded.isRecut};
  if (record.hasMarks)
    return result;
  auto &[tokens, learnt, isRecut] = result;
  if (marks.beginsTexts) {
    tokens.insert(tokens.begin(), marks.begin);
    for (TokenRange &range : learnt)
      ++range.begin, ++range.end;
  }
  // The model also learns the end mark, even after an empty completion.
  auto end = uint32_t(tokens.size());
  if (learnt.empty())
    learnt.push_back({end, end});
  learnt.back().end = end + 1;
  tokens.push_back(marks.end);
  return result;
}

bool MarkedRecord::isPredicted() const {
  return tokens.size() >= 2 && std::ranges::any_of(learnt, [](const TokenRange &range) { return range.end > 1; });
}

Status TextRecords::addRecord(std::string_view line, const std::string &origin, Examples &examples,
                              CorpusReport &report) const {
  HEDDLE_ASSIGN(TextRecord record, TextRecord::parse(line, origin, chat));
  MarkedRecord marked = MarkedRecord::of(record, vocabulary, marks);
  report.recut += marked.isRecut;
  if (!marked.isPredicted())
    ++report.blank;
  else if (marked.predictedTokens() > maximumLength)
    ++report.overLong;
  else
    examples.add({.target = marked.tokens, .learnt = marked.learnt});
  return Success();
}

} // namespace heddle
