// The body of a request to a server: parseBody, and the parser of each route.
#include "runtime/serve/LineTexts.h"
#include "runtime/serve/Rerank.h"
#include "runtime/serve/TextRequest.h"
#include "runtime/text/Utf8.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

using namespace heddle::serve;

static void check(const Parsed<TextRequest> &parsed) {
  require(parsed.value.has_value() != parsed.error.has_value(), "there is a request or an error");
  if (parsed.error) {
    require(!parsed.error->message.empty() && !toJson(*parsed.error).empty(), "an error has a message");
    return;
  }
  const TextRequest &request = *parsed.value;
  require(request.choices >= 1 && request.choices <= kMostChoices, "the choices are within their limits");
  require(request.conversation || !request.prompts.empty(), "there is something to answer");
  require(int64_t(request.prompts.size()) <= int64_t(kMostPrompts), "the prompts are within their limits");
  require(request.options.tokens >= -1 && request.options.tokens <= INT32_MAX, "the tokens are within their limits");
  for (const auto &prompt : request.prompts)
    if (const auto *text = std::get_if<std::string>(&prompt))
      require(isValidUtf8(*text), "a prompt is UTF-8");
    else
      for (int32_t id : std::get<std::vector<int32_t>>(prompt))
        require(id >= 0, "a token is not negative");
  for (const std::string &stop : request.stops)
    require(!stop.empty(), "a stop is not empty");
}

void fuzz(std::span<const std::byte> bytes) {
  Parsed<nlohmann::ordered_json> body = parseBody(text(bytes));
  if (body.error) {
    require(!body.error->message.empty() && !toJson(*body.error).empty(), "an error has a message");
    return;
  }
  check(parseCompletion(*body.value));
  check(parseChat(*body.value));
  check(parseResponse(*body.value));
  Parsed<RerankRequest> ranking = parseRerank(*body.value);
  require(ranking.error || (!ranking.value->query.empty() && !ranking.value->documents.empty()),
          "there is a query with documents, or an error");
  Fields input(*body.value);
  std::vector<TextOrIds> given = readTextsOrIds(input, "input", kMostTexts);
  require(input.error || (!given.empty() && given.size() <= kMostTexts), "there are texts or there is an error");
  for (Pairs pairs : {Pairs::None, Pairs::Allowed, Pairs::Required}) {
    Fields fields(*body.value);
    std::vector<std::string> texts = readTexts(fields, pairs);
    require(fields.error || (!texts.empty() && texts.size() <= kMostTexts), "there are texts or there is an error");
  }
}

} // namespace heddle::fuzz
