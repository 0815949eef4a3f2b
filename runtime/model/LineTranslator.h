// Translates lines of text. Blank lines, invalid UTF-8 and lines that are too long also get an answer; answers keep the
// lines' order.
#pragma once

#include "runtime/model/LineWork.h"
#include "runtime/model/Translator.h"
#include "runtime/tokenizers/TextCodec.h"

#include <filesystem>
#include <map>
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
  std::vector<Choice> choices; // best first; a blank line has one empty choice with score 0
};

class LineTranslator : public LineWork<TranslatedLine> {
public:
  // `folder` contains the files that lines name, for a model that takes images.
  LineTranslator(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, TranslationOptions options,
                 std::filesystem::path folder = {})
      : translator(engine, model, options), model(model), vocabulary(vocabulary), options(options),
        image(model.marks.image), folder(std::move(folder)) {}

  // Adds the next line, and a prefix that its translation starts with. With the option `ids` a line is the source's
  // tokens, with the end mark or without, and a translation the target's tokens, with the end mark if it has ended.
  // Text that is too long is cut and invalid UTF-8 is replaced, with a warning for each line. Fails if the model takes
  // images and the line names none, and if the vocabulary lacks a language's code.
  Status add(std::string_view line, std::string_view prefix = {});
  // Decodes one token of each line in work.
  Status step();
  bool busy() const { return translator.pending() != 0; }

  // Translates these lines; `firstNumber` is the first line's number in messages.
  Result<std::vector<std::string>> translate(std::span<const std::string> texts, uint64_t firstNumber);

private:
  static std::vector<int32_t> cut(std::vector<int32_t> tokens, uint64_t number, size_t longest, const char *what);

  Result<std::vector<int32_t>> readSource(std::string_view line, uint64_t number) const;
  Result<std::vector<int32_t>> beginOfSource(const std::string &from);
  Result<int32_t> findLanguage(const std::string &code);

  Translator translator;
  const ModelDescription &model;
  const TextCodec &vocabulary;
  TranslationOptions options;
  std::map<std::string, int32_t> languages; // the marks of codes that were looked up
  std::map<uint64_t, size_t> leadingMarks;  // by line: tokens of a translation that stand for its language
  ImageShape image;
  std::filesystem::path folder;
};

} // namespace heddle
