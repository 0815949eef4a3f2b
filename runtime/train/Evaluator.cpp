#include "runtime/train/Evaluator.h"

#include "runtime/core/Span.h"
#include "runtime/model/CallInputs.h"
#include "runtime/model/LineTranslator.h"
#include "runtime/scores/Bleu.h"

#include <cmath>
#include <cstdio>
#include <numeric>

namespace heddle {

double EvaluationResult::perplexity() const { return std::exp(loss); }

namespace {

// The loss of each prediction of a batch.
Result<HostTensor> runEval(Engine &engine, const Batch &batch) {
  CallInputs inputs;
  HEDDLE_CHECK(inputs.addBatch(engine.findEntry("eval"), batch));
  HEDDLE_CHECK(engine.run("eval", inputs));
  return engine.output("token_loss");
}

// Returns how many choices of the entry's output are right.
Result<int64_t> countRight(Engine &engine, std::string_view output, std::span<const int32_t> wanted,
                           std::span<const int32_t> places = {}) {
  HEDDLE_ASSIGN(HostTensor choices, engine.output(output));
  int64_t right = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    right += choices.values<int32_t>()[places.empty() ? i : size_t(places[i])] == wanted[i];
  return right;
}

double sumOf(std::span<const float> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Compares a model's grades with the records' grades.
struct GradeScores {
  std::vector<double> given, made;

  double squaredError() const {
    double sum = 0;
    for (size_t i = 0; i < given.size(); ++i)
      sum += (given[i] - made[i]) * (given[i] - made[i]);
    return sum / double(given.size());
  }

  std::optional<double> pearson() const {
    auto mean = [](const std::vector<double> &x) {
      return std::accumulate(x.begin(), x.end(), 0.0) / double(x.size());
    };
    double meanOfGiven = mean(given), meanOfMade = mean(made), both = 0, ofGiven = 0, ofMade = 0;
    for (size_t i = 0; i < given.size(); ++i) {
      double x = given[i] - meanOfGiven, y = made[i] - meanOfMade;
      both += x * y, ofGiven += x * x, ofMade += y * y;
    }
    double scale = std::sqrt(ofGiven) * std::sqrt(ofMade);
    return scale > 0 ? std::optional(both / scale) : std::nullopt;
  }
};

// The negative log-likelihood of each target of a batch.
std::vector<double> sumTargets(const Batch &batch, std::span<const float> tokens) {
  std::vector<double> sums;
  for (int64_t i = 0; i < batch.target.sequences(); ++i) {
    double sum = 0;
    auto first = size_t(batch.target.starts[i]);
    for (size_t token = first; token < first + size_t(batch.target.lengths[i]); ++token)
      sum += batch.weights.empty() ? tokens[token] : tokens[token] * batch.weights[token];
    sums.push_back(sum);
  }
  return sums;
}

} // namespace

Result<std::vector<double>> targetLosses(Engine &engine, const Batch &batch) {
  HEDDLE_ASSIGN(HostTensor losses, runEval(engine, batch));
  return sumTargets(batch, losses.values<float>());
}

std::string describePearson(const EvaluationResult &result) {
  if (!result.pearson)
    return "no correlation, as grades are all alike";
  char text[40];
  std::snprintf(text, sizeof text, "Pearson %.4f", *result.pearson);
  return text;
}

Result<EvaluationResult> evaluate(Engine &engine, std::span<const Batch> batches) {
  Span span("evaluate");
  span.with("batches", int64_t(batches.size()));
  EvaluationResult result;
  double sum = 0;
  int64_t right = 0, labels = 0;
  GradeScores grades;
  for (const Batch &batch : batches) {
    result.tokens += batch.predictions();
    HEDDLE_ASSIGN(HostTensor losses, runEval(engine, batch));
    if (batch.hasTarget()) {
      for (double loss : sumTargets(batch, losses.values<float>()))
        sum += loss;
      continue;
    }
    sum += sumOf(losses.values<float>());
    if (!batch.grades.empty()) {
      HEDDLE_ASSIGN(HostTensor logits, engine.output("logits"));
      std::span<const float> made = logits.values<float>();
      grades.given.insert(grades.given.end(), batch.grades.begin(), batch.grades.end());
      grades.made.insert(grades.made.end(), made.begin(), made.end());
      continue;
    }
    // With labels for words, `choice` has an element for every token, but only some tokens have a label.
    bool isOfTokens = batch.follows.empty();
    HEDDLE_ASSIGN(int64_t rightLabels,
                  countRight(engine, "choice", batch.labels,
                             isOfTokens ? std::span<const int32_t>(batch.labelled) : std::span<const int32_t>()));
    right += rightLabels;
    labels += int64_t(batch.labels.size());
    if (batch.follows.empty())
      continue;
    HEDDLE_ASSIGN(HostTensor sentenceLosses, engine.output("sentence_loss"));
    HEDDLE_ASSIGN(int64_t rightSentences, countRight(engine, "sentence_choice", batch.follows));
    result.sentences += int64_t(batch.follows.size());
    result.sentenceLoss += sumOf(sentenceLosses.values<float>());
    result.sentenceAccuracy += double(rightSentences);
  }
  if (result.tokens != 0)
    result.loss = sum / double(result.tokens);
  if (!grades.given.empty()) {
    result.pearson = grades.pearson();
    result.squaredError = grades.squaredError();
  } else if (labels != 0) {
    result.accuracy = double(right) / double(labels);
  }
  if (result.sentences != 0) {
    result.sentenceLoss /= double(result.sentences);
    result.sentenceAccuracy /= double(result.sentences);
    result.loss += result.sentenceLoss;
  }
  return result;
}

Result<double> translationBleu(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary,
                               const ParallelText &text) {
  Span span("translate for BLEU");
  span.with("lines", int64_t(text.source.size()));
  LineTranslator translator(engine, model, vocabulary, {}, text.folder);
  HEDDLE_ASSIGN(std::vector<std::string> translations, translator.translate(text.source, 1));
  Bleu bleu;
  for (size_t i = 0; i < translations.size(); ++i)
    bleu.add(translations[i], text.target[i]);
  return bleu.score();
}

} // namespace heddle
