// From prompts, a line each, to lines of the prompts with what the model goes on to say.
#pragma once

#include "tools/heddle-run/model/Generator.h"
#include "tools/heddle-run/model/LineWork.h"
#include "tools/heddle-run/text/BytePairs.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::run {

class LineGenerator {
public:
  LineGenerator(Engine &engine, const ModelDescription &model, const BytePairs &vocabulary, GenerationOptions options)
      : generator(engine, model, options), begin(model.marks.begin), vocabulary(vocabulary) {}

  // The next prompt, escaped (Escapes.h). An empty one begins with the begin mark; one that leaves no room for a token
  // more is its own answer, which a warning says.
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
  const BytePairs &vocabulary;
  InOrder<std::string> lines;
  std::map<uint64_t, std::string> prompts; // in work, by number
};

} // namespace heddle::run
