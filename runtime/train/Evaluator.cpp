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

Result<std::vector<double>> targetLosses(Engine &engine, const Batch &batch) {
  CallInputs inputs;
  inputs.addBatch(batch);
  HEDDLE_CHECK(engine.run("eval", inputs));
  HEDDLE_ASSIGN(HostTensor losses, engine.output("token_loss"));
  std::span<const float> tokens = losses.values<float>();
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

namespace {

struct LabelScores {
  double loss = 0; // sum over all labels
  int64_t right = 0;
  double sentenceLoss = 0;
  int64_t rightSentences = 0;
};

Result<LabelScores> scoreLabels(Engine &engine, const Batch &batch) {
  CallInputs inputs;
  inputs.addBatch(batch);
  HEDDLE_CHECK(engine.run("eval", inputs));
  HEDDLE_ASSIGN(HostTensor losses, engine.output("token_loss"));
  HEDDLE_ASSIGN(HostTensor choices, engine.output("choice"));
  LabelScores scores;
  for (float loss : losses.values<float>())
    scores.loss += double(loss);
  for (size_t i = 0; i < batch.labels.size(); ++i) {
    // With labels for words, `choice` has an element for every token, but only some tokens have a label.
    bool isOfTokens = !batch.labelled.empty() && batch.follows.empty();
    size_t place = isOfTokens ? size_t(batch.labelled[i]) : i;
    scores.right += choices.values<int32_t>()[place] == batch.labels[i];
  }
  if (batch.follows.empty())
    return scores;
  HEDDLE_ASSIGN(HostTensor sentenceLosses, engine.output("sentence_loss"));
  HEDDLE_ASSIGN(HostTensor sentenceChoices, engine.output("sentence_choice"));
  for (size_t i = 0; i < batch.follows.size(); ++i) {
    scores.sentenceLoss += double(sentenceLosses.values<float>()[i]);
    scores.rightSentences += sentenceChoices.values<int32_t>()[i] == batch.follows[i];
  }
  return scores;
}

// Compares a model's grades with the records' grades.
class GradeScores {
public:
  Result<double> add(Engine &engine, const Batch &batch) { // the sum of the losses
    CallInputs inputs;
    inputs.addBatch(batch);
    HEDDLE_CHECK(engine.run("eval", inputs));
    HEDDLE_ASSIGN(HostTensor losses, engine.output("token_loss"));
    HEDDLE_ASSIGN(HostTensor grades, engine.output("logits"));
    given.insert(given.end(), batch.grades.begin(), batch.grades.end());
    std::span<const float> predicted = grades.values<float>();
    made.insert(made.end(), predicted.begin(), predicted.end());
    double loss = 0;
    for (float one : losses.values<float>())
      loss += double(one);
    return loss;
  }

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

private:
  std::vector<double> given, made;
};

} // namespace

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
  int64_t right = 0;
  GradeScores grades;
  for (const Batch &batch : batches) {
    result.tokens += batch.predictions();
    if (!batch.grades.empty()) {
      HEDDLE_ASSIGN(double loss, grades.add(engine, batch));
      sum += loss;
      continue;
    }
    if (!batch.hasTarget()) {
      HEDDLE_ASSIGN(LabelScores scores, scoreLabels(engine, batch));
      sum += scores.loss;
      right += scores.right;
      result.sentences += int64_t(batch.follows.size());
      result.sentenceLoss += scores.sentenceLoss;
      result.sentenceAccuracy += double(scores.rightSentences);
      continue;
    }
    HEDDLE_ASSIGN(std::vector<double> losses, targetLosses(engine, batch));
    for (double loss : losses)
      sum += loss;
  }
  if (result.tokens != 0)
    result.loss = sum / double(result.tokens);
  if (!batches.empty() && !batches.front().grades.empty()) {
    result.pearson = grades.pearson();
    result.squaredError = grades.squaredError();
  } else if (!batches.empty() && !batches.front().hasTarget())
    result.accuracy = double(right) / double(result.tokens);
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
