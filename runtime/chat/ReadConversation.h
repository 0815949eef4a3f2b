// Reads conversations from lines of text.
#pragma once

#include "runtime/chat/ChatTemplate.h"

#include <string>
#include <string_view>

namespace heddle {

// Reads {"messages": [...], "add_generation_prompt": true, "variables": {...}}. `origin` names the line in errors.
Result<Conversation> readConversation(std::string_view line, const std::string &origin);

// Returns true if a line begins with a brace: it is such an object, not a user's message.
bool isConversation(std::string_view line);

} // namespace heddle
