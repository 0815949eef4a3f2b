// Continues prompts, one per line, and returns lines of prompt and continuation.
#pragma once

#include "runtime/model/AnswerText.h"
#include "runtime/model/Generator.h"
#include "runtime/model/LineWork.h"
#include "runtime/tokenizers/TextCodec.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct AnswerOptions {
  std::vector<std::string> stops; // a continuation ends before the first of these texts
  bool json = false;              // answers are JSON objects that include why the continuation ended
  bool ids = false;               // prompts and answers are token ids separated by spaces; no begin mark is added
  // If set, converts each line to the text that the model continues, including all marks, for a chat. Answers then
  // leave out that text. Several threads may call it at once.
  std::function<Result<std::string>(std::string_view line)> prompt{};
  // Receives answers piece by piece, for prompts that are added one at a time.
  std::function<void(std::string_view)> stream{};
};

// The answers are escaped or JSON; for streamed answers, the rest.
class LineGenerator : public LineWork<std::string> {
public:
  LineGenerator(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, GenerationOptions options,
                AnswerOptions answers = {})
      : generator(engine, model, [this](const Progress &progress) { return watch(progress); }),
        options(std::move(options)), marks(model.marks), vocabulary(vocabulary), answers(std::move(answers)) {}

  // Adds the next prompt, escaped (Escapes.h), or a line for AnswerOptions::prompt. An empty prompt always gets the
  // begin mark. A prompt without room for another token is its own answer; a warning says so.
  Status add(std::string_view line);
  Status step();
  bool busy() const { return generator.pending() != 0; }

private:
  struct Text {
    std::string text;
    std::vector<int32_t> tokens;
    AnswerText answer;
  };

  bool watch(const Progress &progress);
  Status finish(const Continuation &continuation);
  std::string record(const Text &prompt, const std::string &completion, std::span<const int32_t> tokens,
                     Ending ending) const;

  Generator generator;
  GenerationOptions options;
  Marks marks;
  const TextCodec &vocabulary;
  AnswerOptions answers;
  std::map<uint64_t, Text> prompts; // in work, by number
};

} // namespace heddle
