// What commands make of conversations by a model's chat template.
#pragma once

#include "runtime/chat/TemplateSource.h"
#include "runtime/text/TextRecords.h"

#include <filesystem>
#include <string>

namespace heddle::run {

// The templates of `given` if that is not empty, otherwise those of the model: of a published model, or of a checkpoint
// that keeps them with its vocabulary. Fails with NotFound if there are none.
Result<ChatTemplates> loadTemplates(const std::string &given, const std::filesystem::path &model);

// Reads records of conversations by the same templates, of which a model learns what the assistant says: what the
// template marks by `{% generation %}`, or otherwise what each of the assistant's messages adds to the conversation
// before it. Templates are loaded when the first conversation is read. May be called by several threads at once.
ConversationReader conversationReader(std::string given, std::filesystem::path model);

} // namespace heddle::run
