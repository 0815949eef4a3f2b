#include "tools/heddle-run/commands/OpenModel.h"

#include "runtime/core/Log.h"
#include "runtime/data/Images.h"
#include "runtime/model/LineTranslator.h"
#include "runtime/scores/Bleu.h"
#include "runtime/scores/Chrf.h"
#include "runtime/scores/WordsInPlace.h"
#include "runtime/text/Lines.h"
#include "runtime/text/Utf8.h"
#include "runtime/train/Conversations.h"
#include "runtime/train/Evaluator.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>

namespace heddle::run {
namespace {

namespace fs = std::filesystem;

// Scores of translations against references; the translations may come from any system.
struct TextScores {
  Bleu bleu;
  Chrf chrf;
  WordsInPlace words;
  uint64_t exact = 0, lines = 0;

  void add(std::string_view translation, std::string_view reference) {
    bleu.add(translation, reference);
    chrf.add(translation, reference);
    words.add(translation, reference);
    exact += trimmed(translation) == trimmed(reference);
    ++lines;
  }

  // Rounds down to one decimal, so that 100.0 means that every line is right.
  double exactPercent() const {
    uint64_t tenths = lines == 0 ? 0 : exact * 1000 / lines;
    return double(tenths) / 10;
  }

  void print() const {
    if (bleu.hasHighestOrder())
      std::printf("%s\n", bleu.describe().c_str());
    else
      std::printf("BLEU is left out: it counts sequences of four words, and no translation has four words\n");
    std::printf("%s\n", chrf.describe().c_str());
    std::printf("%s\n", words.describe().c_str());
    std::printf("exact match %.1f%% of %llu\n", exactPercent(), static_cast<unsigned long long>(lines));
  }

private:
  // White space around a line does not belong to the sentence.
  static std::string_view trimmed(std::string_view line) {
    size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
      return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
  }
};

nlohmann::ordered_json toJson(const TextScores &scores) {
  return {{"bleu", scores.bleu.score()},
          {"chrf", scores.chrf.score()},
          {"exact_match", scores.exactPercent()},
          {"sentences", scores.lines},
          {"words_in_place", scores.words.toJson()}};
}

Status appendLog(const std::string &path, const nlohmann::ordered_json &record) {
  if (path.empty())
    return Success();
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << record.dump() << '\n';
  file.close();
  if (!file)
    return makeError(ErrorKind::Io, "cannot write the log '", path, "'; does its folder exist?");
  return Success();
}

// Scores translations from a file.
Status scoreHypotheses(const ScoreCommand &command) {
  HEDDLE_ASSIGN(ParallelText text, readParallelText(command.hypothesis, command.text.target));
  TextScores scores;
  for (size_t i = 0; i < text.source.size(); ++i)
    scores.add(text.source[i], text.target[i]);
  scores.print();
  return appendLog(command.log, toJson(scores));
}

BatchLimits scoringLimits(const ModelDescription &model) {
  BatchLimits limits = model.limits();
  limits.maximumLength = std::min(limits.maximumLength, limits.maximumTokens / (limits.marks.joinsPairs ? 2 : 1));
  return limits;
}

// Prints for each line the log-probability of the target given the source, and the number of tokens. Prints "nan" and 0
// if a side is blank or too long.
Status printLines(const ParallelText &text, TrainedModel &model) {
  struct Line {
    double logProbability = std::numeric_limits<double>::quiet_NaN();
    int64_t tokens = 0;
  };
  BatchLimits limits = scoringLimits(model.description);
  std::vector<Line> lines(text.source.size());
  Examples examples;
  std::vector<size_t> places; // line number of each example
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<int32_t> target = model.vocabulary->encodeTarget(replaceInvalidUtf8(text.target[i])), source;
    std::vector<float> pixels;
    if (const ImageShape &image = limits.marks.image; image.pixels() == 0)
      source = limits.marks.beginSource(model.vocabulary->encode(replaceInvalidUtf8(text.source[i])));
    else if (!isBlank(text.source[i])) {
      HEDDLE_ASSIGN(pixels, readImageLine(text.source[i], image, text.folder, str("line ", i + 1)));
    }
    int64_t longest = std::max(int64_t(source.size()) + limits.marks.sourceMarks(), int64_t(target.size()) + 1);
    if ((source.empty() && pixels.empty()) || target.empty() || longest > limits.maximumLength)
      continue;
    examples.add(MarkedPair(source, target, pixels, limits.marks).example());
    places.push_back(i);
  }
  auto place = places.begin();
  for (const Batch &batch : packInOrder(examples, limits)) {
    HEDDLE_ASSIGN(std::vector<double> losses, targetLosses(*model.engine, batch));
    for (size_t i = 0; i < losses.size(); ++i)
      lines[*place++] = {-losses[i], batch.target.lengths[i]};
  }
  uint64_t without = 0;
  for (const Line &line : lines) {
    std::printf("%.6f\t%lld\n", line.logProbability, static_cast<long long>(line.tokens));
    without += line.tokens == 0;
  }
  if (without != 0)
    log(LogLevel::Warning, str(without, " of ", lines.size(),
                               " lines have no score: a side of them is blank or has more "
                               "than ",
                               limits.maximumLength, " tokens"));
  return Success();
}

nlohmann::ordered_json lossRecord(const EvaluationResult &evaluation, const TrainedModel &model) {
  nlohmann::ordered_json record = {
      {"loss", evaluation.loss}, {"perplexity", evaluation.perplexity()}, {"tokens", evaluation.tokens}};
  if (evaluation.squaredError) {
    record = {
        {"loss", evaluation.loss}, {"mean_squared_error", *evaluation.squaredError}, {"grades", evaluation.tokens}};
    if (evaluation.pearson)
      record["pearson"] = *evaluation.pearson;
  }
  if (evaluation.accuracy)
    record = {{"loss", evaluation.loss}, {"accuracy", *evaluation.accuracy}, {"labels", evaluation.tokens}};
  if (evaluation.sentences != 0) {
    record["sentence_accuracy"] = evaluation.sentenceAccuracy;
    record["sentence_loss"] = evaluation.sentenceLoss;
    record["sentence_pairs"] = evaluation.sentences;
  }
  if (model.step)
    record["step"] = *model.step;
  return record;
}

void printLoss(const EvaluationResult &evaluation) {
  if (evaluation.sentences != 0) {
    std::printf(
        "loss %.4f; words %.4f per word of %lld, accuracy %.2f%%; next sentences %.4f per pair of %lld, accuracy "
        "%.2f%%\n",
        evaluation.loss, evaluation.loss - evaluation.sentenceLoss, static_cast<long long>(evaluation.tokens),
        100 * *evaluation.accuracy, evaluation.sentenceLoss, static_cast<long long>(evaluation.sentences),
        100 * evaluation.sentenceAccuracy);
    return;
  }
  if (evaluation.squaredError) {
    std::printf("loss %.4f per grade of %lld, %s, mean squared error %.4f\n", evaluation.loss,
                static_cast<long long>(evaluation.tokens), describePearson(evaluation).c_str(),
                *evaluation.squaredError);
    return;
  }
  if (evaluation.accuracy) {
    std::printf("loss %.4f per label of %lld, accuracy %.2f%%\n", evaluation.loss,
                static_cast<long long>(evaluation.tokens), 100 * *evaluation.accuracy);
    return;
  }
  std::printf("loss %.4f per token of %lld, perplexity %.3f\n", evaluation.loss,
              static_cast<long long>(evaluation.tokens), evaluation.perplexity());
}

// Computes the loss of the text, and reports what was left out.
Result<EvaluationResult> evaluateText(const ScoreCommand &command, const LineBlocks &lines, TrainedModel &model) {
  BatchLimits limits = scoringLimits(model.description);
  HEDDLE_ASSIGN(PackedText packed,
                packText(command.text, lines, *model.vocabulary, limits, model.description.labelling(),
                         conversationReader(command.chatTemplate,
                                            command.common.base.empty() ? command.checkpoint : command.common.base),
                         "score"));
  if (packed.report.isWorthAWarning())
    log(LogLevel::Warning, str("the loss is of ", packed.report.describe(limits.maximumLength)));
  return evaluate(*model.engine, packed.batches);
}

Status scorePairs(const ScoreCommand &command, const LineBlocks &lines, TrainedModel &model) {
  HEDDLE_ASSIGN(ParallelText text, lines.readAll());
  if (command.perLine)
    return printLines(text, model);
  TranslationOptions decoding = translationOptions(command.decoding);
  HEDDLE_CHECK(Translator::check(*model.engine, model.description, decoding));
  HEDDLE_ASSIGN(EvaluationResult evaluation, evaluateText(command, lines, model));
  LineTranslator translator(*model.engine, model.description, *model.vocabulary, decoding, text.folder);
  HEDDLE_ASSIGN(std::vector<std::string> translations, translator.translate(text.source, 1));
  Span span("compare with references");
  TextScores scores;
  for (size_t i = 0; i < translations.size(); ++i)
    scores.add(translations[i], text.target[i]);

  printLoss(evaluation);
  scores.print();
  nlohmann::ordered_json record = lossRecord(evaluation, model);
  record.update(toJson(scores));
  return appendLog(command.log, record);
}

Status scoreModel(const ScoreCommand &command, Profile *profile) {
  std::error_code error;
  HEDDLE_ASSIGN(LineBlocks lines, command.text.open(fs::temp_directory_path(error)));
  HEDDLE_ASSIGN(OpenModel opened, openModel(command.common, profile));
  HEDDLE_CHECK(command.text.check(opened.description, "score"));
  HEDDLE_ASSIGN(TrainedModel model, withWeights(std::move(opened), command.common.base, command.checkpoint));
  HEDDLE_CHECK(requireEntries(*model.engine, {"eval"}, "a score"));
  if (command.text.textKind() == TextKind::Pairs)
    return scorePairs(command, lines, model);
  HEDDLE_ASSIGN(EvaluationResult evaluation, evaluateText(command, lines, model));
  printLoss(evaluation);
  return appendLog(command.log, lossRecord(evaluation, model));
}

} // namespace

Status runScore(const ScoreCommand &command) {
  std::vector<fs::path> read = filesRead(command.common, {command.checkpoint, command.hypothesis}, {&command.text});
  HEDDLE_CHECK(cli::checkOutput("--log", command.log, read));
  return profiled(command.common, "score", read, [&](Profile *profile) {
    return command.hypothesis.empty() ? scoreModel(command, profile) : scoreHypotheses(command);
  });
}

} // namespace heddle::run
