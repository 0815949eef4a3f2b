#include "runtime/text/Completions.h"

#include "runtime/core/Json.h"
#include "runtime/core/Span.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {

Result<Completion> Completion::parse(std::string_view line, const std::string &origin) {
  auto bad = [&](std::string_view what) {
    return makeError(
        ErrorKind::Malformed, origin, " ", what,
        R"(; each line is a record such as {"prompt": "2 + 2 =", "completion": " 4"} or {"text": "2 + 2 = 4"}.)");
  };
  if (!isValidUtf8(line))
    return bad("is not UTF-8");
  Result<nlohmann::json> json = parseJson(line, origin);
  if (!json.ok())
    return bad("is not JSON");
  auto text = [&](const char *key) {
    auto found = json->is_object() ? json->find(key) : json->end();
    return json->is_object() && found != json->end() && found->is_string() ? std::optional(found->get<std::string>())
                                                                           : std::nullopt;
  };
  std::optional<std::string> prompt = text("prompt"), completion = text("completion"), whole = text("text");
  if (prompt && completion && !whole)
    return Completion{std::move(*prompt), std::move(*completion)};
  if (whole && !prompt && !completion)
    return Completion{"", std::move(*whole)};
  return bad("has neither a \"prompt\" with a \"completion\", both strings, nor a \"text\" alone");
}

Status checkCompletions(const LineBlocks &file) {
  Span span("check records");
  for (size_t block = 0; block < file.blocks(); ++block) {
    HEDDLE_ASSIGN(std::vector<std::string> lines, file.readSource(block));
    for (size_t i = 0; i < lines.size(); ++i)
      if (!isBlank(lines[i]))
        HEDDLE_CHECK(Completion::parse(lines[i], file.placeOf(block, i)));
  }
  return Success();
}

std::string textOfCompletion(std::string_view line) {
  Result<Completion> record = Completion::parse(line, ""); // what is no record has been told before
  return record.ok() ? record->prompt + record->completion : std::string();
}

EncodedCompletion EncodedCompletion::of(const Completion &record, const TextCodec &vocabulary) {
  std::vector<int32_t> prompt = vocabulary.encode(record.prompt);
  EncodedCompletion result{vocabulary.encode(record.prompt + record.completion), prompt.size(), false};
  if (result.tokens.size() >= prompt.size() &&
      std::ranges::equal(std::span(result.tokens).first(prompt.size()), prompt))
    return result;
  std::vector<int32_t> completion = vocabulary.encodeContinuation(record.completion);
  result.tokens = std::move(prompt);
  result.tokens.insert(result.tokens.end(), completion.begin(), completion.end());
  result.isRecut = true;
  return result;
}

Status Completions::read(size_t block, Draw, Examples &examples, CorpusReport &report) const {
  Span reading("read and tokenise block");
  HEDDLE_ASSIGN(std::vector<std::string> lines, records.readSource(block));
  reading.with("block", int64_t(block)).with("lines", int64_t(lines.size()));
  CorpusReport here{.unit = "record"};
  for (size_t i = 0; i < lines.size(); ++i) {
    if (isBlank(lines[i]))
      continue;
    ++here.read;
    HEDDLE_ASSIGN(Completion record, Completion::parse(lines[i], records.placeOf(block, i)));
    EncodedCompletion encoded = EncodedCompletion::of(record, vocabulary);
    here.recut += encoded.isRecut;
    std::vector<int32_t> tokens = std::move(encoded.tokens);
    if (marks.beginsTexts)
      tokens.insert(tokens.begin(), marks.begin);
    // Nothing predicts the first token.
    size_t given = std::max<size_t>(encoded.given + marks.beginsTexts, 1);
    tokens.push_back(marks.end);
    if (tokens.size() == 1)
      ++here.blank; // an end mark that nothing predicts
    else if (int64_t(tokens.size()) - 1 > maximumLength)
      ++here.overLong;
    else
      examples.addCompletion(tokens, given);
  }
  report.add(here);
  return Success();
}

} // namespace heddle
