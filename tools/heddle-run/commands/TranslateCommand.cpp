#include "tools/heddle-run/commands/Opening.h"

#include "tools/heddle-run/model/LineTranslator.h"
#include "tools/heddle-run/text/InputLines.h"

#include <cstdio>
#include <unistd.h>

namespace heddle::run {
namespace {

// Enough that sorting by length fills the calls well, few enough that the first lines come soon.
constexpr size_t kCallsAtOnce = 8;

} // namespace

Status runTranslate(const TranslateCommand &command) {
  HEDDLE_ASSIGN(TrainedModel model, openTrained(command.common, command.checkpoint));
  if (command.decoding.noCache)
    HEDDLE_CHECK(requireEntries(*model.engine, {"logits"},
                                "translation without a cache (compile with --set logits_entry=true)"));
  else
    HEDDLE_CHECK(requireEntries(*model.engine, {"encode", "decode_step"}, "translation"));
  LineTranslator translator(*model.engine, model.description, model.tokenizer,
                            {command.decoding.maximumLength, !command.decoding.noCache});
  InputLines input(STDIN_FILENO);
  uint64_t number = 1;
  while (true) {
    HEDDLE_ASSIGN(std::vector<std::string> lines,
                  input.next(kCallsAtOnce * size_t(model.description.maximumSequences)));
    if (lines.empty())
      return Success();
    HEDDLE_ASSIGN(std::vector<std::string> translations, translator.translate(lines, number));
    for (const std::string &translation : translations) {
      std::fwrite(translation.data(), 1, translation.size(), stdout);
      std::putchar('\n');
    }
    if (std::fflush(stdout) != 0)
      return makeError(ErrorKind::Io, "cannot write the translations to the standard output.");
    number += lines.size();
  }
}

} // namespace heddle::run
