// From lines of text to lines of text, whatever is in them: blank lines, broken UTF-8 and lines too long come out too.
#pragma once

#include "tools/heddle-run/model/Translator.h"
#include "tools/heddle-run/text/Tokenizer.h"

#include <span>
#include <string>
#include <vector>

namespace heddle::run {

class LineTranslator {
public:
  LineTranslator(Engine &engine, const ModelDescription &model, const Tokenizer &tokenizer, TranslationOptions options)
      : translator(engine, model, options), tokenizer(tokenizer) {}

  // A line for each line, in order. A blank one stays empty; one too long is cut, which is said once for each.
  // `firstNumber` is the first line's number for messages.
  Result<std::vector<std::string>> translate(std::span<const std::string> lines, uint64_t firstNumber);

private:
  Translator translator;
  const Tokenizer &tokenizer;
};

} // namespace heddle::run
