// From prompts, a line each, to lines of the prompts with what the model goes on to say.
#pragma once

#include "runtime/model/AnswerText.h"
#include "runtime/model/Generator.h"
#include "runtime/model/LineWork.h"
#include "runtime/text/TextCodec.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct AnswerOptions {
  std::vector<std::string> stops; // a continuation ends before the first of these texts
  bool json = false;              // answers are objects of JSON, with the reason of the end
  bool ids = false; // prompts and answers are token ids, with spaces between them; prompts get no begin mark
  // If it is there, makes of each line the text that the model continues, with all its marks: a chat. Answers are then
  // without that text. Called by several threads at once.
  std::function<Result<std::string>(std::string_view line)> prompt{};
  std::function<void(std::string_view)> stream{}; // gets answers piece by piece, for prompts that are added one by one
};

class LineGenerator {
public:
  LineGenerator(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, GenerationOptions options,
                AnswerOptions answers = {})
      : generator(engine, model, [this](const Progress &progress) { return watch(progress); }),
        options(std::move(options)), marks(model.marks), vocabulary(vocabulary), answers(std::move(answers)) {}

  // The next prompt, escaped (Escapes.h), or a line for AnswerOptions::prompt. An empty one begins with the begin mark
  // always; one that leaves no room for a token more is its own answer, which a warning says.
  Status add(std::string_view line);
  Status step();
  // The answers, escaped or as JSON, in the prompts' order; of those that were streamed what is left.
  std::vector<std::string> take() { return lines.take(); }
  // As InOrder's.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // Added and not yet taken, and of these the ones that still need steps.
  uint64_t held() const { return lines.held(); }
  bool busy() const { return generator.pending() != 0; }

private:
  struct Text {
    std::string text;
    std::vector<int32_t> tokens;
    AnswerText answer;
  };

  bool watch(const Progress &progress);
  Status finish(const Continuation &continuation);
  Result<std::vector<int32_t>> readIds(std::string_view line, uint64_t number) const;
  std::string record(const Text &prompt, const std::string &completion, std::span<const int32_t> tokens,
                     Ending ending) const;

  Generator generator;
  GenerationOptions options;
  Marks marks;
  const TextCodec &vocabulary;
  AnswerOptions answers;
  InOrder<std::string> lines;
  std::map<uint64_t, Text> prompts; // in work, by number
};

} // namespace heddle
