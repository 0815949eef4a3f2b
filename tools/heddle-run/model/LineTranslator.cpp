#include "tools/heddle-run/model/LineTranslator.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/text/Utf8.h"

namespace heddle::run {

Result<std::vector<std::string>> LineTranslator::translate(std::span<const std::string> lines, uint64_t firstNumber) {
  std::vector<std::vector<int32_t>> sentences;
  std::vector<size_t> places;
  size_t longest = size_t(translator.maximumSourceLength());
  for (size_t i = 0; i < lines.size(); ++i) {
    bool valid = isValidUtf8(lines[i]);
    if (!valid)
      log(LogLevel::Warning, str("line ", firstNumber + i, " is not UTF-8; its invalid bytes are replaced"));
    std::vector<int32_t> sentence = tokenizer.encode(valid ? lines[i] : replaceInvalidUtf8(lines[i]));
    if (sentence.empty())
      continue;
    if (sentence.size() > longest) {
      log(LogLevel::Warning, str("line ", firstNumber + i, " has ", sentence.size(), " tokens and is cut to ", longest,
                                 ", the most that the model was compiled for"));
      sentence.resize(longest);
    }
    sentences.push_back(std::move(sentence));
    places.push_back(i);
  }
  HEDDLE_ASSIGN(std::vector<std::vector<int32_t>> translations, translator.translate(sentences));
  std::vector<std::string> result(lines.size());
  for (size_t i = 0; i < places.size(); ++i)
    result[places[i]] = tokenizer.decode(translations[i]);
  return result;
}

} // namespace heddle::run
