// From lines of text to lines of text, whatever is in them: blank lines, broken UTF-8 and lines too long come out too,
// in the order in which they went in.
#pragma once

#include "runtime/model/LineWork.h"
#include "runtime/model/Translator.h"
#include "runtime/text/TextCodec.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct TranslatedLine {
  struct Choice {
    std::string text;
    double score; // Hypothesis::score
  };
  uint64_t number = 0;
  std::vector<Choice> choices; // the best first; a blank line has one empty choice, of score 0
};

class LineTranslator {
public:
  // `folder` is where files are that lines name, of a model that takes images.
  LineTranslator(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, TranslationOptions options,
                 std::filesystem::path folder = {})
      : translator(engine, model, options), vocabulary(vocabulary), image(model.marks.image),
        folder(std::move(folder)) {}

  // The next line, and what its translation begins with. What is too long is cut and what is not UTF-8 replaced, which
  // is said once for each line. Fails where the model takes images, and the line has none.
  Status add(std::string_view line, std::string_view prefix = {});
  // Decodes a token of each line in work.
  Status step();
  // Lines that are translated and whose predecessors are.
  std::vector<TranslatedLine> take() { return lines.take(); }
  // As InOrder's.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // Added and not yet taken, and of these the ones that still need steps.
  uint64_t held() const { return lines.held(); }
  bool busy() const { return translator.pending() != 0; }

  // A line for each of these; `firstNumber` is the first one's number in messages.
  Result<std::vector<std::string>> translate(std::span<const std::string> texts, uint64_t firstNumber);

private:
  static std::vector<int32_t> cut(std::vector<int32_t> tokens, uint64_t number, size_t longest, const char *what);

  Translator translator;
  const TextCodec &vocabulary;
  ImageShape image;
  std::filesystem::path folder;
  InOrder<TranslatedLine> lines;
};

} // namespace heddle
