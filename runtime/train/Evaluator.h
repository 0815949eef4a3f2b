// Evaluates a model on text that it is not trained on.
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/text/Lines.h"
#include "runtime/tokenizers/TextCodec.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle {

struct EvaluationResult {
  // The mean negative log-likelihood of target tokens (end marks included) or labels, in nats; for grades, the loss
  // that the model's .weft text defines.
  double loss = 0;
  int64_t tokens = 0;                  // the number of tokens, labels or grades
  std::optional<double> accuracy = {}; // of labels, from 0 to 1
  // For grades: the correlation and error between the records' and the model's grades. No correlation if all grades of
  // a side are equal.
  std::optional<double> pearson = {}, squaredError = {};
  // For sentence pairs: predictions whether the second sentence follows the first. `loss` includes `sentenceLoss`.
  int64_t sentences = 0;
  double sentenceLoss = 0, sentenceAccuracy = 0;
  std::optional<double> bleu = {}; // 0 to 100; set if translations were made

  double perplexity() const;
};

// The BLEU of the model's greedy translations.
Result<double> translationBleu(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary,
                               const ParallelText &text);

// For display: "Pearson 0.9123".
std::string describePearson(const EvaluationResult &result);

Result<EvaluationResult> evaluate(Engine &engine, std::span<const Batch> batches);

// The negative log-likelihood of each target sequence of a batch, end mark included, in nats.
Result<std::vector<double>> targetLosses(Engine &engine, const Batch &batch);

} // namespace heddle
