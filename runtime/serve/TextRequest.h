// Parses text requests: the bodies of /v1/completions, /v1/chat/completions and /v1/responses.
#pragma once

#include "runtime/chat/ChatTemplate.h"
#include "runtime/model/Generator.h"
#include "runtime/serve/ApiError.h"
#include "runtime/serve/Fields.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle::serve {

// Limits of a request.
inline constexpr int64_t kMostChoices = 64, kMostAlternatives = 20;
inline constexpr size_t kMostPrompts = 512, kMostStops = 16;

using TextOrIds = std::variant<std::string, std::vector<int32_t>>;

struct TextRequest {
  std::string model; // empty if missing
  std::vector<TextOrIds> prompts;
  std::optional<Conversation> conversation; // replaces `prompts`
  GenerationOptions options;                // without a seed; `tokens` is negative if the request does not set it
  std::optional<int64_t> mostTokens;        // the most tokens of an answer, if the request sets them
  std::optional<uint64_t> seed;
  std::vector<std::string> stops;
  int64_t choices = 1; // answers for each prompt
  bool stream = false, includesUsage = false, echo = false;
};

// Parses the JSON object of a body. Fails if it is not JSON, not UTF-8 or not an object.
Parsed<nlohmann::ordered_json> parseBody(std::string_view body);

// Reads a field that is a text, a list of texts, a list of token ids or a list of such lists: 1 to `most` of them.
std::vector<TextOrIds> readTextsOrIds(Fields &fields, std::string_view name, size_t most);
// Returns an error for the field if an id is not below `pieces`.
std::optional<ApiError> checkIds(std::span<const int32_t> ids, int32_t pieces, std::string_view name);

// Unknown fields are ignored; unsupported fields that would change the answer are errors.
Parsed<TextRequest> parseCompletion(const nlohmann::ordered_json &body);
Parsed<TextRequest> parseChat(const nlohmann::ordered_json &body);
// The request is stateless: `input` and `instructions` become a conversation.
Parsed<TextRequest> parseResponse(const nlohmann::ordered_json &body);

} // namespace heddle::serve
