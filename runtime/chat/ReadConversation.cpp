#include "runtime/chat/ReadConversation.h"

#include "runtime/core/Json.h"

#include <utility>

namespace heddle {

using Json = nlohmann::ordered_json;

Result<Conversation> readConversation(std::string_view line, const std::string &origin) {
  HEDDLE_ASSIGN(Json json, parseOrderedJson(line, origin));
  auto wrong = [&](const auto &...why) { return makeError(ErrorKind::InvalidArgument, origin, ": ", why...); };
  if (!json.is_object() || !json.contains("messages"))
    return wrong("a conversation is an object with the key 'messages', such as {\"messages\": [{\"role\": \"user\", "
                 "\"content\": \"Good morning\"}], \"add_generation_prompt\": true}.");
  Conversation conversation;
  conversation.messages = std::move(json["messages"]);
  if (json.contains("add_generation_prompt")) {
    if (!json["add_generation_prompt"].is_boolean())
      return wrong("'add_generation_prompt' is true or false.");
    conversation.addGenerationPrompt = json["add_generation_prompt"].get<bool>();
  }
  if (json.contains("variables")) {
    if (!json["variables"].is_object())
      return wrong("'variables' is an object.");
    conversation.variables = std::move(json["variables"]);
  }
  return conversation;
}

bool isConversation(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  return begin != std::string_view::npos && line[begin] == '{';
}

} // namespace heddle
