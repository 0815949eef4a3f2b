#include "tools/heddle-run/commands/Opening.h"

#include "tools/heddle-run/model/LineTranslator.h"
#include "tools/heddle-run/text/InputLines.h"
#include "tools/heddle-run/text/Lines.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <unistd.h>

namespace heddle::run {
namespace {

// Lines read and not yet written, in times of what one call holds. Enough that sentences of like length find each other
// and that one long sentence does not keep the others waiting; few enough that memory stays small.
constexpr uint64_t kCallsAhead = 8;

// What each line's translation begins with.
class Prefixes {
public:
  static Result<Prefixes> open(const TranslateCommand &command) {
    Prefixes prefixes(command.prefixColumn);
    if (!command.prefixes.empty()) {
      HEDDLE_ASSIGN(prefixes.file, LineReader::open(command.prefixes));
      prefixes.path = command.prefixes;
    }
    return prefixes;
  }

  // Takes the prefix off `line`, where it is there.
  Result<std::string> next(std::string &line) {
    std::string prefix;
    if (size_t tab = line.find('\t'); column && tab != std::string::npos) {
      prefix = line.substr(tab + 1);
      line.resize(tab);
    }
    if (file && !file->next(prefix)) {
      HEDDLE_CHECK(file->status());
      return makeError(ErrorKind::InvalidArgument, "'", path, "' has ", file->lineNumber(),
                       " lines, and the standard input has more; every line needs its prefix, which may be empty.");
    }
    return prefix;
  }

private:
  explicit Prefixes(bool column) : column(column) {}

  bool column;
  std::string path;
  std::optional<LineReader> file;
};

void print(const TranslatedLine &line, int64_t nBest) {
  size_t count = std::min(line.choices.size(), size_t(std::max<int64_t>(nBest, 1)));
  for (const TranslatedLine::Choice &choice : std::span(line.choices).first(count)) {
    if (nBest != 0)
      std::printf("%llu\t%.6f\t", static_cast<unsigned long long>(line.number), choice.score);
    std::fwrite(choice.text.data(), 1, choice.text.size(), stdout);
    std::putchar('\n');
  }
}

Status translate(const TranslateCommand &command, Profile *profile) {
  TranslationOptions options = translationOptions(command.decoding);
  if (command.sample)
    options.sampling = {command.temperature, command.topK, command.topP, command.seed};
  HEDDLE_ASSIGN(Prefixes prefixes, Prefixes::open(command));
  HEDDLE_ASSIGN(TrainedModel model, openTrained(command.common, command.checkpoint, profile));
  HEDDLE_CHECK(Translator::check(*model.engine, model.description, options));
  std::signal(SIGPIPE, SIG_IGN); // a reader that has gone is seen when writing

  LineTranslator translator(*model.engine, model.description, model.tokenizer, options);
  InputLines input(STDIN_FILENO);
  uint64_t window = kCallsAhead * uint64_t(model.description.maximumSequences);
  while (true) {
    if (translator.held() < window && !input.ended()) {
      auto wait = translator.busy() ? InputLines::Wait::No : InputLines::Wait::ForOne;
      HEDDLE_ASSIGN(std::vector<std::string> lines, input.next(size_t(window - translator.held()), wait));
      Span span("tokenise lines");
      span.with("lines", int64_t(lines.size()));
      for (std::string &line : lines) {
        HEDDLE_ASSIGN(std::string prefix, prefixes.next(line));
        translator.add(line, prefix);
      }
    }
    HEDDLE_CHECK(translator.step());
    std::vector<TranslatedLine> lines = translator.take();
    Span span("write translations");
    span.with("lines", int64_t(lines.size()));
    for (const TranslatedLine &line : lines)
      print(line, command.nBest);
    if (!lines.empty() && std::fflush(stdout) != 0)
      return errno == EPIPE ? Status(Success()) // whoever reads has enough
                            : Status(makeError(ErrorKind::Io, "cannot write the translations: ", std::strerror(errno)));
    if (translator.held() == 0 && input.ended())
      return Success();
  }
}

} // namespace

Status runTranslate(const TranslateCommand &command) {
  return profiled(command.common, "translate", [&](Profile *profile) { return translate(command, profile); });
}

} // namespace heddle::run
