// Finds the chat template of a published model.
#pragma once

#include "runtime/chat/ChatTemplate.h"

#include <filesystem>
#include <map>
#include <string>

namespace heddle {

// The templates published with a model, and the special tokens that they use.
struct TemplateSource {
  // Templates by name; not empty. Most models have only "default". Some also have "tool_use" for conversations with
  // tools.
  std::map<std::string, std::string, std::less<>> templates;
  // An object of strings: "bos_token", "eos_token" and the model's other special tokens.
  nlohmann::ordered_json specialTokens = nlohmann::ordered_json::object();

  // The name of the template that transformers would choose: "tool_use" if there are tools and it exists, otherwise
  // "default". Fails if neither exists.
  Result<std::string> choose(bool hasTools) const;
};

// Reads the templates of a Hugging Face folder, a GGUF file, or a template file with the ending .jinja. Fails with
// NotFound if there is no template.
Result<TemplateSource> readChatTemplate(const std::filesystem::path &path);

// The parsed templates of a model, with its special tokens as variables.
class ChatTemplates {
public:
  // Parses all templates. Errors name `path`.
  static Result<ChatTemplates> load(const std::filesystem::path &path);

  // Renders with the template that fits. Special tokens that the conversation does not define are the model's. Fails
  // like ChatTemplate::render().
  Result<RenderedChat> render(Conversation conversation, std::optional<std::tm> now = std::nullopt,
                              RenderFailure *failure = nullptr) const;

  // The template for conversations with or without tools. It is valid as long as this object.
  Result<const ChatTemplate *> choose(bool hasTools) const;
  // Returns true if a template contains this text, for example the name of a role or a mark.
  bool mentions(std::string_view text) const;
  // See TemplateSource::specialTokens.
  const nlohmann::ordered_json &specialTokens() const { return source.specialTokens; }

private:
  TemplateSource source;
  std::map<std::string, ChatTemplate, std::less<>> parsed;
};

} // namespace heddle
