// Applies a model's chat template to conversations.
#pragma once

#include "runtime/chat/TemplateSource.h"
#include "runtime/data/TextRecords.h"

#include <filesystem>
#include <string>

namespace heddle {

// Loads templates from `given`, or from `model` if `given` is empty: a published model, or a checkpoint that keeps them
// with its vocabulary. Fails with NotFound if there are none.
Result<ChatTemplates> loadTemplates(const std::string &given, const std::filesystem::path &model);

// Returns a reader of training records that are conversations, rendered by the same templates. The model learns what
// the assistant says: the parts marked by `{% generation %}`, or otherwise what each of the assistant's messages adds
// to the conversation before it. Templates are loaded when the first conversation is read. The reader may be called by
// several threads at once.
ConversationReader conversationReader(std::string given, std::filesystem::path model);

} // namespace heddle
