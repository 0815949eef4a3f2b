// Renders a conversation as the text that a chat model was trained on.
//
// A chat template is a program in the language of jinja2, which a published model brings along. It is rendered as
// transformers does: in a sandbox in which no value changes, with trim_blocks and lstrip_blocks, `break` and
// `continue`, `{% generation %}`, `tojson` of plain JSON, `raise_exception` and `strftime_now`. Whatever the template
// holds, rendering ends within a few seconds and some hundred MiB.
//
// To render a prefix of a conversation, give its first messages.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct Conversation {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  // Whether the text ends with what a model continues with its answer.
  bool addGenerationPrompt = false;
  // An object: `tools`, `documents`, `bos_token` and all else that the template may ask for. `tools` and `documents`
  // are None where they are left out. A member `messages` or `add_generation_prompt` takes the place of that above.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
};

struct RenderedChat {
  // Bytes [begin, end) of the text.
  struct Span {
    size_t begin, end;
  };

  std::string text;
  // What stands within `{% generation %}`, in the order of the text: what a model is to learn of a conversation. Empty
  // if the template has no such blocks, or has them in macros only.
  std::vector<Span> generated;
};

// Why a conversation was not rendered.
struct RenderFailure {
  std::string type;    // as Python names it: "TemplateError" if raise_exception was called, "UndefinedError", ...
  std::string message; // without the type
  int line = 0;        // of the template; 0 if it is not known

  // The template refuses this conversation on purpose.
  bool isRaised() const { return type == "TemplateError"; }
};

// What one rendering may use up; see runtime/chat/Budget.h.
struct RenderLimits {
  uint64_t steps = 100'000'000;
  uint64_t valueBytes = 128u << 20u;
  uint64_t textBytes = 64u << 20u;
};

class ChatTemplate {
public:
  // Fails for text that is not UTF-8 or no template, with the line of the mistake.
  static Result<ChatTemplate> parse(std::string_view text);

  // Fails if the template raises an exception, does what Python would refuse, or uses up the limits. `failure`, if it
  // is not null, is told the details. `now` is the local time for strftime_now; without it the clock says. May be
  // called by several threads at once.
  Result<RenderedChat> render(const Conversation &conversation, std::optional<std::tm> now = std::nullopt,
                              RenderFailure *failure = nullptr, const RenderLimits &limits = {}) const;

  // Whether the template tells by `{% generation %}` what a model is to learn.
  bool marksGeneration() const;

private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed;
};

} // namespace heddle
