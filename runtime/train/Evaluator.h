// The loss of a model on text that it is not trained on.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/text/Batches.h"
#include "runtime/text/Lines.h"
#include "runtime/text/TextCodec.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct EvaluationResult {
  double loss = 0; // negative log-likelihood of a target token, the end marks counted, or of a label, in nats; or what
                   // the text says of a grade
  int64_t tokens = 0;                  // or labels, or grades
  std::optional<double> accuracy = {}; // of labels, as a part of 1
  // Of grades, between those of the records and the model's; there is no correlation where either are all alike.
  std::optional<double> pearson = {}, squaredError = {};
  // Of pairs of sentences, whether they follow each other; the loss of a pair is a part of `loss`.
  int64_t sentences = 0;
  double sentenceLoss = 0, sentenceAccuracy = 0;
  std::optional<double> bleu = {}; // 0 to 100, of translations, where they are made

  double perplexity() const;
};

// The BLEU of the model's greedy translations.
Result<double> translationBleu(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary,
                               const ParallelText &text);

// "Pearson 0.9123", for people.
std::string describePearson(const EvaluationResult &result);

Result<EvaluationResult> evaluate(Engine &engine, std::span<const Batch> batches);

// The negative log-likelihood of each target of a batch, its end mark counted, in nats.
Result<std::vector<double>> targetLosses(Engine &engine, const Batch &batch);

} // namespace heddle
