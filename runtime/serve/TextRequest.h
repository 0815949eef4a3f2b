// What a request for text asks for: the bodies of /v1/completions, /v1/chat/completions and /v1/responses.
#pragma once

#include "runtime/chat/ChatTemplate.h"
#include "runtime/model/Generator.h"
#include "runtime/serve/ApiError.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle::serve {

// Requests may not ask for more than this.
inline constexpr int64_t kMostChoices = 64, kMostAlternatives = 20;
inline constexpr size_t kMostPrompts = 512, kMostStops = 16;

struct TextRequest {
  std::string model; // empty: not said
  // Texts or token ids.
  std::vector<std::variant<std::string, std::vector<int32_t>>> prompts;
  std::optional<Conversation> conversation; // in the place of prompts
  GenerationOptions options;                // without a seed; `tokens` is below 0 where the request does not say
  std::optional<uint64_t> seed;
  std::vector<std::string> stops;
  int64_t choices = 1; // of each prompt
  bool stream = false, includesUsage = false, echo = false;
};

// The object of a body. Fails for what is no JSON, no UTF-8 or no object.
Parsed<nlohmann::ordered_json> parseBody(std::string_view body);

// Fields that are not known and may be ignored are; those that would change the answer are errors.
Parsed<TextRequest> parseCompletion(const nlohmann::ordered_json &body);
Parsed<TextRequest> parseChat(const nlohmann::ordered_json &body);
// A stateless one: `input` and `instructions` become a conversation.
Parsed<TextRequest> parseResponse(const nlohmann::ordered_json &body);

} // namespace heddle::serve
