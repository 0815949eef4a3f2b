// Finds the chat template of a published model.
#pragma once

#include "runtime/chat/ChatTemplate.h"

#include <filesystem>
#include <map>
#include <string>

namespace heddle {

// The templates that a model was published with, and the special tokens that they use.
struct TemplateSource {
  // By their names; not empty. Most models have one, "default". Some have another for conversations with tools,
  // "tool_use".
  std::map<std::string, std::string, std::less<>> templates;
  // An object of texts: "bos_token", "eos_token" and the others that the model has.
  nlohmann::ordered_json specialTokens = nlohmann::ordered_json::object();

  // The name of the template that transformers takes: "tool_use" if there are tools and it exists, otherwise
  // "default". Fails if there is neither.
  Result<std::string> choose(bool hasTools) const;
};

// Of a folder as Hugging Face publishes it, of a GGUF file, or of a file that is a template itself, whose name ends
// with .jinja. Fails with NotFound if there is no template.
Result<TemplateSource> readChatTemplate(const std::filesystem::path &path);

// The templates of a model, parsed, with its special tokens as variables.
class ChatTemplates {
public:
  // Parses all templates. An error names `path`.
  static Result<ChatTemplates> load(const std::filesystem::path &path);

  // Renders by the template that fits, with the special tokens that the conversation does not give itself. Fails as
  // ChatTemplate::render().
  Result<RenderedChat> render(Conversation conversation, std::optional<std::tm> now = std::nullopt,
                              RenderFailure *failure = nullptr) const;

  // The template for conversations with or without tools. It lives as long as this object.
  Result<const ChatTemplate *> choose(bool hasTools) const;
  // Whether a template has this text in it: the name of a role, or a mark.
  bool mentions(std::string_view text) const;
  // The special tokens, as TemplateSource has them.
  const nlohmann::ordered_json &specialTokens() const { return source.specialTokens; }

private:
  TemplateSource source;
  std::map<std::string, ChatTemplate, std::less<>> parsed;
};

} // namespace heddle
