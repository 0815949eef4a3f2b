// Renders a conversation as the text that a chat model was trained on.
//
// A chat template is a program in the language of jinja2, published together with a model. It is rendered as in
// transformers: in a sandbox where values are immutable, with trim_blocks and lstrip_blocks, `break` and `continue`,
// `{% generation %}`, `tojson` that writes plain JSON, `raise_exception` and `strftime_now`. Whatever the template
// contains, rendering ends within a few seconds and uses at most a few hundred MiB.
//
// To render a prefix of a conversation, pass its first messages.
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
  // Whether the text ends with the beginning of an answer, for a model to continue.
  bool addGenerationPrompt = false;
  // An object with `tools`, `documents`, `bos_token` and any other variables of the template. `tools` and `documents`
  // are None if omitted. A member `messages` or `add_generation_prompt` overrides the field above.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
};

struct RenderedChat {
  // Bytes [begin, end) of the text.
  struct Span {
    size_t begin, end;
  };

  std::string text;
  // The output of `{% generation %}` blocks, in the order of the text: the parts that a model learns to write. Empty if
  // the template has no such blocks, or has them only in macros.
  std::vector<Span> generated;
};

// Why a conversation was not rendered.
struct RenderFailure {
  std::string type;    // Python's name for it: "TemplateError" if raise_exception was called, "UndefinedError", ...
  std::string message; // without the type
  int line = 0;        // in the template; 0 if unknown

  // Returns true if the template refused this conversation on purpose.
  bool isRaised() const { return type == "TemplateError"; }
};

// Limits of one rendering; see runtime/chat/Budget.h.
struct RenderLimits {
  uint64_t steps = 100'000'000;
  uint64_t valueBytes = 128u << 20u;
  uint64_t textBytes = 64u << 20u;
};

class ChatTemplate {
public:
  // Fails with the line of the mistake if the text is not valid UTF-8 or not a template.
  static Result<ChatTemplate> parse(std::string_view text);

  // Fails if the template raises an exception, does something that Python would refuse, or exceeds the limits. The
  // details are stored in `failure` if it is not null. `now` is the local time for strftime_now; the default is the
  // clock's time. Thread-safe.
  Result<RenderedChat> render(const Conversation &conversation, std::optional<std::tm> now = std::nullopt,
                              RenderFailure *failure = nullptr, const RenderLimits &limits = {}) const;

  // Returns true if the template marks with `{% generation %}` what a model learns to write.
  bool marksGeneration() const;

private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed;
};

} // namespace heddle
