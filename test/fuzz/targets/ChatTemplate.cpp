// A chat template that renders a conversation with tools.
#include "runtime/chat/ChatTemplate.h"
#include "runtime/core/Json.h"
#include "runtime/text/Utf8.h"
#include "test/fuzz/Fuzz.h"

namespace heddle::fuzz {

static Conversation conversation() {
  Conversation given;
  given.messages = *parseOrderedJson(R"([
    {"role": "system", "content": "Be brief.\n"},
    {"role": "user", "content": [{"type": "text", "text": "Wie heißt der Fluß?"}]},
    {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": "call1",
      "function": {"name": "river", "arguments": {"city": "Prague", "depth": 1.5, "deep": [true, null]}}}]},
    {"role": "tool", "content": "Vltava", "tool_call_id": "call1"},
    {"role": "assistant", "content": "It is the <b>Vltava</b>."}])",
                                     "fuzz");
  given.addGenerationPrompt = true;
  given.variables = *parseOrderedJson(R"({"bos_token": "<s>", "eos_token": "</s>", "enable_thinking": true, "tools": [
    {"type": "function", "function": {"name": "river", "description": "A river's name",
      "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]})",
                                      "fuzz");
  return given;
}

void fuzz(std::span<const std::byte> bytes) {
  static const Conversation given = conversation();
  Result<ChatTemplate> parsed = ChatTemplate::parse(text(bytes));
  if (!parsed.ok())
    return;
  constexpr RenderLimits kLimits{.steps = 200'000, .valueBytes = 8u << 20u, .textBytes = 1u << 20u};
  std::tm now{};
  now.tm_mday = 1;
  RenderFailure failure;
  Result<RenderedChat> rendered = parsed->render(given, now, &failure, kLimits);
  if (!rendered.ok()) {
    require(!failure.type.empty(), "a failure has a type");
    return;
  }
  require(rendered->text.size() <= kLimits.textBytes, "the text is within its limit");
  require(isValidUtf8(rendered->text), "the text is UTF-8");
  size_t end = 0;
  for (auto span : rendered->generated) {
    require(end <= span.begin && span.begin <= span.end && span.end <= rendered->text.size(),
            "spans follow one another within the text");
    end = span.end;
  }
}

} // namespace heddle::fuzz
