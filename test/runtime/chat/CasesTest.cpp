// The template language: each template of Inputs/Cases.json must render as jinja2 rendered it (write_cases.py).
#include "runtime/chat/ChatTemplate.h"
#include "runtime/chat/Clock.h"
#include "runtime/core/Json.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(ChatCases, AreThoseOfJinja2) {
  auto whole = parseOrderedJson(test::slurp(HEDDLE_TEST_INPUTS "/Cases.json"), "Cases.json");
  ASSERT_TRUE(whole.ok()) << whole.message();
  Conversation conversation;
  conversation.addGenerationPrompt = true;
  conversation.variables = (*whole)["variables"];
  size_t cases = 0;
  for (const auto &given : (*whole)["cases"]) {
    ++cases;
    std::string text = given["template"].get<std::string>();
    SCOPED_TRACE(text);
    Result<ChatTemplate> parsed = ChatTemplate::parse(text);
    if (!parsed.ok()) {
      ADD_FAILURE() << parsed.message();
      continue;
    }
    RenderFailure failure;
    auto rendered = parsed->render(conversation, chat::readTime("2026-01-02T03:04:05"), &failure);
    if (given.contains("text")) {
      EXPECT_TRUE(rendered.ok()) << rendered.message();
      if (rendered.ok())
        EXPECT_EQ(rendered->text, given["text"].get<std::string>());
    } else {
      ASSERT_FALSE(rendered.ok());
      EXPECT_EQ(failure.type + ": " + failure.message, given["error"].get<std::string>());
      EXPECT_GT(failure.line, 0);
    }
  }
  EXPECT_GT(cases, 200u);
}

} // namespace
} // namespace heddle
