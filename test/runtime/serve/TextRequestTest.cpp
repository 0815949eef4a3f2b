#include "runtime/serve/TextRequest.h"

#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::serve;

namespace {

using Parse = Parsed<TextRequest> (*)(const nlohmann::ordered_json &);

TextRequest read(Parse parse, const std::string &body) {
  Parsed<nlohmann::ordered_json> json = parseBody(body);
  EXPECT_FALSE(json.error) << json.error->message;
  Parsed<TextRequest> request = parse(*json.value);
  EXPECT_FALSE(request.error) << body << ": " << request.error->message;
  return request.value.value_or(TextRequest());
}

// Returns the error's field and message.
std::string refused(Parse parse, const std::string &body) {
  Parsed<nlohmann::ordered_json> json = parseBody(body);
  Parsed<TextRequest> request = json.error ? Parsed<TextRequest>(*json.error) : parse(*json.value);
  if (!request.error) {
    ADD_FAILURE() << body << " is taken";
    return "";
  }
  EXPECT_EQ(request.error->status, 400);
  return request.error->param + ": " + request.error->message;
}

TEST(TextRequest, CompletionsTakeTextsAndIds) {
  TextRequest request = read(parseCompletion, R"({"prompt": "one"})");
  EXPECT_EQ(std::get<std::string>(request.prompts.at(0)), "one");
  EXPECT_EQ(request.options.tokens, 16);
  EXPECT_EQ(request.options.sampling->temperature, 1);
  EXPECT_EQ(read(parseCompletion, R"({"prompt": ["one", "two"]})").prompts.size(), 2u);
  request = read(parseCompletion, R"({"prompt": [1, 2, 3]})");
  EXPECT_EQ(std::get<std::vector<int32_t>>(request.prompts.at(0)), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(read(parseCompletion, R"({"prompt": [[1, 2], [3]], "n": 2})").choices, 2);
  // A request as lm-evaluation-harness sends it.
  request = read(parseCompletion, R"({"prompt": [[1, 2]], "max_tokens": 1, "logprobs": 1, "echo": true, "seed": 1234,
                                      "temperature": 0, "model": "m"})");
  EXPECT_FALSE(request.options.sampling);
  EXPECT_TRUE(request.options.scoresPrompt);
  EXPECT_EQ(request.options.alternatives, 1);
  EXPECT_EQ(request.seed, 1234u);
  for (const char *wrong : {R"({"prompt": 5})", R"({"prompt": []})", R"({"prompt": [1.5]})", R"({"prompt": [1, "a"]})",
                            R"({"prompt": [-1]})", R"({"prompt": [99999999999]})"})
    EXPECT_EQ(refused(parseCompletion, wrong).find("prompt: "), 0u) << wrong;
}

TEST(TextRequest, OptionsAreChecked) {
  TextRequest request = read(parseCompletion, R"({"stop": "a", "top_p": 0.5, "top_k": -1, "n": 3, "stream": true,
      "stream_options": {"include_usage": true}, "user": "someone", "unknown": [1], "presence_penalty": 0,
      "logit_bias": {}, "temperature": null, "tools": [], "tool_choice": "none"})");
  EXPECT_EQ(request.stops, (std::vector<std::string>{"a"}));
  EXPECT_EQ(request.options.sampling->topP, 0.5);
  EXPECT_TRUE(request.stream && request.includesUsage);
  EXPECT_FALSE(request.options.ignoresEnd);
  EXPECT_TRUE(read(parseCompletion, R"({"ignore_eos": true})").options.ignoresEnd);
  // Options of other servers are refused if they would change the answer.
  read(parseCompletion,
       R"({"min_tokens": 0, "use_beam_search": false, "stop_token_ids": [], "grammar": "", "bad_words": null})");
  for (const char *wrong : {R"({"min_tokens": 4})", R"({"stop_token_ids": [2]})", R"({"grammar": "root ::= a"})"})
    EXPECT_NE(refused(parseCompletion, wrong).find("is not supported"), std::string::npos) << wrong;
  EXPECT_EQ(read(parseCompletion, R"({"stop": ["a", "b"]})").stops.size(), 2u);
  EXPECT_FALSE(read(parseCompletion, R"({"top_p": 0})").options.sampling);
  for (const auto &[body, field] : std::initializer_list<std::pair<const char *, const char *>>{
           {R"({"temperature": -1})", "temperature"},
           {R"({"temperature": "hot"})", "temperature"},
           {R"({"top_p": 2})", "top_p"},
           {R"({"n": 0})", "n"},
           {R"({"n": 1.5})", "n"},
           {R"({"max_tokens": -5})", "max_tokens"},
           {R"({"max_tokens": 18446744073709551615})", "max_tokens"},
           {R"({"stop": [""]})", "stop"},
           {R"({"stop": 5})", "stop"},
           {R"({"stream": "yes"})", "stream"},
           {R"({"seed": 1.5})", "seed"},
           {R"({"logprobs": 1000})", "logprobs"},
           {R"({"presence_penalty": 1})", "presence_penalty"},
           {R"({"logit_bias": {"1": 2}})", "logit_bias"},
           {R"({"suffix": "a"})", "suffix"},
           {R"({"best_of": 3})", "best_of"},
           {R"({"response_format": {"type": "json_object"}})", "response_format"}})
    EXPECT_EQ(refused(parseCompletion, body).find(std::string(field) + ": "), 0u) << refused(parseCompletion, body);
  EXPECT_NE(refused(parseChat, R"({"messages": [{"role": "user", "content": "a"}], "tools": [{}]})").find("tools"),
            std::string::npos);
}

TEST(TextRequest, BodiesAreObjectsOfJson) {
  for (const char *wrong :
       {"", "{", "[]", "5", "{\"prompt\": \"\xff\"}", "{\"prompt\": \"\\ud800\"}", "{\"a\": 1, \"a\": 2}"})
    EXPECT_EQ(refused(parseCompletion, wrong).find(": "), 0u) << wrong;
  EXPECT_NE(refused(parseCompletion, std::string(100'000, '[')).find("64 deep"), std::string::npos);
  std::string many = "{";
  for (int i = 0; i < 100'000; ++i)
    many += "\"" + std::to_string(i) + "\":0,";
  EXPECT_NE(refused(parseCompletion, many + "\"x\":0}").find("more than 256 keys"), std::string::npos);
}

TEST(TextRequest, ConversationsHaveMessages) {
  TextRequest request = read(parseChat, R"({"messages": [{"role": "developer", "content": "be brief"},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
      {"role": "assistant", "content": null}], "max_completion_tokens": 7, "logprobs": true, "top_logprobs": 2,
      "chat_template_kwargs": {"enable_thinking": false}})");
  EXPECT_EQ(request.conversation->messages[1]["content"], "ab");
  EXPECT_EQ(request.conversation->variables["enable_thinking"], false);
  EXPECT_TRUE(request.conversation->addGenerationPrompt);
  EXPECT_EQ(request.options.tokens, 7);
  EXPECT_EQ(request.options.alternatives, 2);
  EXPECT_LT(read(parseChat, R"({"messages": [{"role": "user", "content": "a"}]})").options.tokens, 0);
  for (const char *wrong :
       {"{}", R"({"messages": []})", R"({"messages": ["a"]})", R"({"messages": [{"content": "a"}]})",
        R"({"messages": [{"role": "user", "content": 5}]})",
        R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a"}}]}]})"})
    EXPECT_EQ(refused(parseChat, wrong).find("messages: "), 0u) << wrong;
  EXPECT_EQ(refused(parseChat, R"({"messages": [{"role": "user", "content": "a"}],
      "chat_template_kwargs": {"messages": []}})")
                .find("chat_template_kwargs"),
            0u);
}

TEST(TextRequest, ResponsesAreStateless) {
  TextRequest request =
      read(parseResponse, R"({"input": "hello", "instructions": "be brief", "max_output_tokens": 5})");
  EXPECT_EQ(request.conversation->messages.size(), 2u);
  EXPECT_EQ(request.conversation->messages[0]["role"], "system");
  EXPECT_EQ(request.options.tokens, 5);
  request = read(parseResponse, R"({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]}]})");
  EXPECT_EQ(request.conversation->messages[1]["content"], "b");
  EXPECT_EQ(refused(parseResponse, R"({"input": "a", "previous_response_id": "resp_1"})").find("previous_response_id"),
            0u);
  EXPECT_EQ(refused(parseResponse, R"({"input": [{"type": "function_call_output"}]})").find("input"), 0u);
  EXPECT_EQ(
      refused(parseResponse, R"({"input": "a", "text": {"format": {"type": "json_schema"}}})").find("text.format"), 0u);
  EXPECT_EQ(refused(parseResponse, "{}").find("input"), 0u);
}

} // namespace
