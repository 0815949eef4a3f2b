// Assembles the answers to a text request, whole or as events; each kind of request has a format.
#pragma once

#include "runtime/serve/Exchange.h"
#include "runtime/serve/TextEngine.h"
#include "runtime/serve/TextRequest.h"
#include "runtime/tokenizers/TextCodec.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace heddle::serve {

// The text of a token that follows others, as in OpenAI's API: "bytes:\xe2" if it is not UTF-8.
struct TokenText {
  std::string text, bytes;
  size_t characters = 0; // that the token adds to the model's text; none if it is a special token
};
TokenText textOfToken(const TextCodec &vocabulary, std::span<const int32_t> before, int32_t token);

// add() and end() are called in the engine's thread.
class TextReply {
public:
  struct Prompt {
    std::string text;
    std::vector<int32_t> tokens;
  };

  TextReply(std::shared_ptr<Exchange> exchange, TextRequest request, std::string model, const TextCodec &vocabulary,
            std::vector<Prompt> prompts);
  virtual ~TextReply() = default;

  size_t size() const { return prompts.size() * size_t(request.choices); }
  void add(size_t index, const TextPiece &piece);
  // After an error nothing else is sent. Returns true if the request's other jobs are no longer needed.
  bool end(size_t index, TextAnswer answer);

  const TextRequest &asked() const { return request; }
  const Prompt &promptOf(size_t index) const { return prompts[index / size_t(request.choices)]; }

protected:
  using Json = nlohmann::ordered_json;

  struct Choice {
    std::string text;
    Continuation continuation;
    bool isScored = false;
  };

  virtual void beginStream() {}
  virtual void streamPiece(size_t index, const TextPiece &piece) = 0;
  virtual void streamEnd(size_t index, const Choice &choice, const std::string &rest) = 0;
  virtual void endStream() = 0;
  virtual Json whole() = 0;

  Json usage() const;
  static const char *reasonOf(Ending ending);
  std::string newId(std::string_view prefix) const;

  std::shared_ptr<Exchange> exchange;
  TextRequest request;
  std::string model;
  const TextCodec &vocabulary;
  std::vector<Prompt> prompts;
  std::vector<Choice> choices;
  int64_t created;

private:
  void begin();

  size_t open;
  bool hasBegun = false, isOver = false;
};

std::unique_ptr<TextReply> makeCompletionReply(std::shared_ptr<Exchange>, TextRequest, std::string model,
                                               const TextCodec &, std::vector<TextReply::Prompt>);
// With `thinks`, text between <think> and </think> is not part of the answer.
std::unique_ptr<TextReply> makeChatReply(std::shared_ptr<Exchange>, TextRequest, std::string model, const TextCodec &,
                                         std::vector<TextReply::Prompt>, bool thinks);
std::unique_ptr<TextReply> makeResponseReply(std::shared_ptr<Exchange>, TextRequest, std::string model,
                                             const TextCodec &, std::vector<TextReply::Prompt>, bool thinks);

} // namespace heddle::serve
