// Where published models store their templates and special tokens.
#include "runtime/chat/TemplateSource.h"
#include "runtime/core/Json.h"
#include "test/runtime/GgufBytes.h"
#include "test/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

class TemplateSources : public ::testing::Test {
protected:
  // Renders a conversation of one message.
  std::string render(const std::filesystem::path &path, std::string_view variables = "{}") {
    auto loaded = ChatTemplates::load(path);
    if (!loaded.ok())
      return loaded.message();
    Conversation given;
    given.messages = *parseOrderedJson(R"([{"role": "user", "content": "hi"}])", "messages");
    given.variables = *parseOrderedJson(variables, "variables");
    auto rendered = loaded->render(std::move(given));
    return rendered.ok() ? rendered->text : rendered.message();
  }

  void write(const std::string &name, std::string_view text) { test::spit(folder.path() / name, text); }

  test::TemporaryFolder folder;
};

TEST_F(TemplateSources, OfAFolder) {
  write("tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "add_bos_token": true,
    "pad_token": null, "chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token is defined }}{{ unk_token }}"})");
  write("special_tokens_map.json", R"({"bos_token": "other", "unk_token": "<unk>"})");
  EXPECT_EQ(render(folder.path()), "<s>hi</s>False<unk>");
  EXPECT_EQ(render(folder.path(), R"({"bos_token": "[B]"})"), "[B]hi</s>False<unk>")
      << "the conversation's goes before";
  write("chat_template.jinja", "file: {{ messages[0].content }}{{ eos_token }}");
  EXPECT_EQ(render(folder.path()), "file: hi</s>");
}

TEST_F(TemplateSources, OfAFolderWithSeveral) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]})");
  EXPECT_EQ(render(folder.path()), "plain");
  EXPECT_EQ(render(folder.path(), R"({"tools": null})"), "plain");
  EXPECT_EQ(render(folder.path(), R"({"tools": [{"name": "x"}]})"), "tools");
  std::filesystem::create_directory(folder.path() / "additional_chat_templates");
  write("additional_chat_templates/tool_use.jinja", "more tools");
  EXPECT_EQ(render(folder.path(), R"({"tools": [{"name": "x"}]})"), "more tools");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "x"}]})");
  EXPECT_EQ(render(folder.path()),
            "the model has chat templates for special purposes only (rag, tool_use), and none with "
            "the name 'default'; name the file of one.");
}

TEST_F(TemplateSources, SayWhatIsLearnt) {
  write(
      "tokenizer_config.json",
      R"({"eos_token": "</s>", "chat_template": [{"name": "default", "template": "{% generation %}x{% endgeneration %}"},
    {"name": "tool_use", "template": "x"}]})");
  auto loaded = ChatTemplates::load(folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  EXPECT_TRUE((*loaded->choose(false))->marksGeneration());
  EXPECT_FALSE((*loaded->choose(true))->marksGeneration());
  EXPECT_EQ(loaded->specialTokens().dump(), R"({"eos_token":"</s>"})");
}

TEST_F(TemplateSources, OfAProcessor) {
  write("chat_template.json", R"({"chat_template": "from json"})");
  EXPECT_EQ(render(folder.path()), "from json");
}

TEST_F(TemplateSources, OfAGgufFile) {
  test::GgufBytes keys;
  keys.texts("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>"})
      .whole("tokenizer.ggml.bos_token_id", 1)
      .whole("tokenizer.ggml.eos_token_id", 2)
      .whole("tokenizer.ggml.padding_token_id", 77)
      .text("tokenizer.chat_template",
            "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token is defined }}")
      .text("tokenizer.chat_template.tool_use", "tools{{ eos_token }}");
  write("model.gguf", keys.file());
  EXPECT_EQ(render(folder.path() / "model.gguf"), "<s>hi</s>False");
  EXPECT_EQ(render(folder.path() / "model.gguf", R"({"tools": [1]})"), "tools</s>");
  write("bare.gguf", test::GgufBytes().text("general.name", "x").file());
  EXPECT_EQ(render(folder.path() / "bare.gguf"),
            "'" + (folder.path() / "bare.gguf").string() +
                "' has no chat template: it lacks the key 'tokenizer.chat_template'. Name a file with a template "
                "(NAME.jinja).");
}

TEST_F(TemplateSources, MistakesNameTheFile) {
  std::string path = folder.path().string();
  EXPECT_EQ(render(folder.path()), "'" + path +
                                       "' has no chat template: neither chat_template.jinja, nor the key "
                                       "'chat_template' in tokenizer_config.json or chat_template.json. Name a "
                                       "file with a template (NAME.jinja).");
  EXPECT_NE(render(folder.path() / "nope").find("nope"), std::string::npos);
  write("x.txt", "text");
  EXPECT_EQ(render(folder.path() / "x.txt"),
            "'" + path + "/x.txt' is neither a GGUF file nor a template, whose name ends with .jinja.");
  write("chat_template.jinja", "{% if %}");
  EXPECT_EQ(render(folder.path()), "the chat template of '" + path +
                                       "' cannot be read: '%}' stands where an expression is "
                                       "expected (line 1 of the template)");
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_NE(render(folder.path()).find("neither a text nor a list"), std::string::npos);
  write("tokenizer_config.json", "[");
  EXPECT_NE(render(folder.path()).find("tokenizer_config.json' is not usable JSON"), std::string::npos);
}

} // namespace
} // namespace heddle
