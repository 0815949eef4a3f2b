// From prompts, a line each, to lines of the prompts with what the model goes on to say.
#pragma once

#include "tools/heddle-run/model/Generator.h"
#include "tools/heddle-run/model/LineWork.h"
#include "tools/heddle-run/text/TextCodec.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

enum class PromptBeginning { Bare, Mark };

class LineGenerator {
public:
  LineGenerator(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, GenerationOptions options,
                PromptBeginning beginning)
      : generator(engine, model, options), begin(model.marks.begin), vocabulary(vocabulary), beginning(beginning) {}

  // The next prompt, escaped (Escapes.h). An empty one begins with the begin mark always; one that leaves no room for a
  // token more is its own answer, which a warning says.
  void add(std::string_view line);
  Status step();
  // The answers, escaped, in the prompts' order.
  std::vector<std::string> take() { return lines.take(); }
  // Added and not yet taken, and of these the ones that still need steps.
  uint64_t held() const { return lines.held(); }
  bool busy() const { return generator.pending() != 0; }

private:
  void finish(const Continuation &continuation);

  Generator generator;
  int32_t begin;
  const TextCodec &vocabulary;
  PromptBeginning beginning;
  InOrder<std::string> lines;
  struct Text {
    std::string text;
    std::vector<int32_t> tokens;
  };
  std::map<uint64_t, Text> prompts; // in work, by number
};

} // namespace heddle::run
