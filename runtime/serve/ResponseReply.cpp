// Answers of /v1/responses. The server stores no responses.
#include "runtime/serve/TextReply.h"
#include "runtime/serve/Thinking.h"

namespace heddle::serve {
namespace {

class ResponseReply final : public TextReply {
public:
  ResponseReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model, const TextCodec &vocabulary,
                std::vector<Prompt> prompts, bool thinks)
      : TextReply(std::move(exchange), std::move(request), std::move(model), vocabulary, std::move(prompts)),
        id(newId("resp_")), messageId(newId("msg_")), thinks(thinks), thinking(isThoughtOpen()) {}

private:
  bool isThoughtOpen() const {
    std::string_view prompt = promptOf(0).text;
    return prompt.substr(0, prompt.find_last_not_of(" \t\r\n") + 1).ends_with("<think>");
  }

  Json part() const { return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}}; }
  Json message(const char *status) const {
    Json content = Json::array();
    if (std::string_view(status) != "in_progress")
      content.push_back(part());
    return {{"type", "message"},
            {"id", messageId},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(content)}};
  }
  bool isCut() const { return reasonOf(choices[0].continuation.ending) != std::string_view("stop"); }

  Json response(const char *status, Json output) const {
    const auto &sampling = request.options.sampling;
    Json json = {{"id", id},
                 {"object", "response"},
                 {"created_at", created},
                 {"status", status},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"instructions", nullptr},
                 {"max_output_tokens", request.mostTokens ? Json(*request.mostTokens) : Json()},
                 {"metadata", Json::object()},
                 {"model", model},
                 {"output", std::move(output)},
                 {"parallel_tool_calls", false},
                 {"previous_response_id", nullptr},
                 {"store", false},
                 {"temperature", sampling ? sampling->temperature : 0},
                 {"tool_choice", "none"},
                 {"tools", Json::array()},
                 {"top_p", sampling ? sampling->topP : 1}};
    if (std::string_view(status) == "incomplete")
      json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    json["usage"] = nullptr;
    return json;
  }

  Json finished() const {
    const char *status = isCut() ? "incomplete" : "completed";
    Json json = response(status, Json::array({message(status)}));
    Json counted = usage();
    json["usage"] = {{"input_tokens", counted["prompt_tokens"]},
                     {"input_tokens_details", counted["prompt_tokens_details"]},
                     {"output_tokens", counted["completion_tokens"]},
                     {"output_tokens_details", {{"reasoning_tokens", 0}}},
                     {"total_tokens", counted["total_tokens"]}};
    return json;
  }

  void send(const char *type, Json fields) {
    Json json = {{"type", type}, {"sequence_number", sequence++}};
    json.update(fields);
    exchange->event(dumped(json), type);
  }
  Json at(Json fields) const {
    Json json = {{"item_id", messageId}, {"output_index", 0}, {"content_index", 0}};
    json.update(fields);
    return json;
  }

  void beginStream() override {
    send("response.created", {{"response", response("in_progress", Json::array())}});
    send("response.in_progress", {{"response", response("in_progress", Json::array())}});
    send("response.output_item.added", {{"output_index", 0}, {"item", message("in_progress")}});
    send("response.content_part.added", at({{"part", part()}}));
  }
  void stream(const std::string &piece) {
    if (piece.empty())
      return;
    text += piece;
    send("response.output_text.delta", at({{"delta", piece}, {"logprobs", Json::array()}}));
  }
  void streamPiece(size_t, const TextPiece &piece) override {
    stream(thinks ? thinking.add(piece.text).answer : piece.text);
  }
  void streamEnd(size_t, const Choice &, const std::string &rest) override {
    stream(thinks ? thinking.finish(rest).answer : rest);
  }
  void endStream() override {
    send("response.output_text.done", at({{"text", text}, {"logprobs", Json::array()}}));
    send("response.content_part.done", at({{"part", part()}}));
    const char *status = isCut() ? "incomplete" : "completed";
    send("response.output_item.done", {{"output_index", 0}, {"item", message(status)}});
    send(isCut() ? "response.incomplete" : "response.completed", {{"response", finished()}});
  }
  Json whole() override {
    const std::string &all = choices[0].text;
    text = thinks ? thinking.finish(all).answer : all;
    return finished();
  }

  std::string id, messageId;
  bool thinks;
  Thinking thinking;
  std::string text;
  uint64_t sequence = 0;
};

} // namespace

std::unique_ptr<TextReply> makeResponseReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model,
                                             const TextCodec &vocabulary, std::vector<TextReply::Prompt> prompts,
                                             bool thinks) {
  return std::make_unique<ResponseReply>(std::move(exchange), std::move(request), std::move(model), vocabulary,
                                         std::move(prompts), thinks);
}

} // namespace heddle::serve
