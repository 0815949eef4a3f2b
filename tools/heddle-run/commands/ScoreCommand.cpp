#include "tools/heddle-run/commands/Opening.h"

#include "runtime/core/Log.h"
#include "tools/heddle-run/model/Evaluator.h"
#include "tools/heddle-run/model/LineTranslator.h"
#include "tools/heddle-run/text/Bleu.h"
#include "tools/heddle-run/text/Lines.h"
#include "tools/heddle-run/text/Utf8.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace heddle::run {
namespace {

struct Scores {
  EvaluationResult evaluation;
  Bleu bleu;
  uint64_t exact = 0, translated = 0;

  // To one decimal and downwards: 100.0 says that every one is right.
  double exactPercent() const { return translated == 0 ? 0 : double(exact * 1000 / translated) / 10; }
};

// White space around a line is no part of the sentence.
std::string_view trimmed(std::string_view line) {
  size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos)
    return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

Status compareTranslations(const ParallelText &text, LineTranslator &translator, Scores &scores) {
  HEDDLE_ASSIGN(std::vector<std::string> translations, translator.translate(text.source, 1));
  for (size_t i = 0; i < translations.size(); ++i) {
    if (isBlank(text.source[i]) || isBlank(text.target[i]))
      continue;
    scores.bleu.add(translations[i], text.target[i]);
    scores.exact += trimmed(translations[i]) == trimmed(text.target[i]);
    ++scores.translated;
  }
  return Success();
}

Status writeLog(const std::string &path, const Scores &scores) {
  nlohmann::ordered_json record = {
      {"loss", scores.evaluation.loss},       {"perplexity", scores.evaluation.perplexity()},
      {"tokens", scores.evaluation.tokens},   {"bleu", scores.bleu.score()},
      {"exact_match", scores.exactPercent()}, {"sentences", scores.translated}};
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << record.dump() << '\n';
  file.close();
  if (!file)
    return makeError(ErrorKind::Io, "cannot write the log '", path, "'; does its folder exist?");
  return Success();
}

} // namespace

Status runScore(const ScoreCommand &command) {
  HEDDLE_ASSIGN(ParallelText text, readParallelText(command.source, command.target));
  HEDDLE_ASSIGN(TrainedModel model, openTrained(command.common, command.checkpoint));
  HEDDLE_CHECK(requireEntries(*model.engine, {"eval"}, "a score"));
  TranslationOptions decoding = translationOptions(command.decoding);
  HEDDLE_CHECK(Translator::check(*model.engine, model.description, decoding));
  BatchLimits limits = model.description.limits();
  limits.maximumLength = std::min(limits.maximumLength, limits.maximumTokens);
  HEDDLE_ASSIGN(Corpus corpus, readCorpus(command.source, command.target, model.tokenizer, limits.maximumLength));
  if (corpus.report.skipped() != 0)
    log(LogLevel::Warning, str("the loss is of ", corpus.report.describe(limits.maximumLength)));
  if (corpus.pairs.empty())
    return makeError(ErrorKind::InvalidArgument, "'", command.source, "' and '", command.target,
                     "' leave no pair to score (", corpus.report.describe(limits.maximumLength), ").");

  Scores scores;
  HEDDLE_ASSIGN(scores.evaluation, evaluate(*model.engine, packInOrder(corpus.pairs, limits)));
  LineTranslator translator(*model.engine, model.description, model.tokenizer, decoding);
  HEDDLE_CHECK(compareTranslations(text, translator, scores));

  std::printf("loss %.4f per token of %lld, perplexity %.3f\n", scores.evaluation.loss,
              static_cast<long long>(scores.evaluation.tokens), scores.evaluation.perplexity());
  std::printf("BLEU %.2f%s\n", scores.bleu.score(),
              scores.bleu.hasHighestOrder() ? "" : " (no translation has four words, so none has a 4-gram to count)");
  std::printf("exact match %.1f%% of %llu\n", scores.exactPercent(),
              static_cast<unsigned long long>(scores.translated));
  return command.log.empty() ? Status(Success()) : writeLog(command.log, scores);
}

} // namespace heddle::run
