// Training on pairs of answers (DPO): the log probabilities that the reference model gives them, and how often a model
// prefers the right one. The reference is the model at the start of the training, which for an adapter is its base.
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/model/Description.h"
#include "runtime/train/Evaluator.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace heddle {

// The loss of pairs, as the description of the artifact says.
struct PreferenceLoss {
  bool isMean = false; // ipo: log probabilities are means over the answer's tokens
  double beta = 0.1, smoothing = 0;

  // Null if the model is not trained on pairs.
  static std::optional<PreferenceLoss> of(const ModelDescription &model);
  // Returns the loss of a pair. `margin` says by how much more than the reference the model prefers the chosen answer.
  double of(double margin) const;
};

// The reference's log probability of each sequence's tokens that count.
class ReferenceScores {
public:
  // The file beside a run's checkpoints.
  static constexpr const char *kFile = "reference.json";

  // Computes the scores of all pairs with the weights that the engine has.
  static Result<ReferenceScores> compute(Engine &engine, const ExampleBlocks &corpus, const BatchLimits &limits,
                                         std::span<const Batch> validation);
  static Result<ReferenceScores> load(const std::filesystem::path &folder);
  Status save(const std::filesystem::path &folder) const;

  // The score of each sequence of the batch. Fails if the scores lack one: they are of another text.
  Result<std::vector<float>> of(const Batch &batch) const;
  size_t size() const { return scores.size(); }

private:
  Status add(Engine &engine, const Batch &batch);

  std::unordered_map<std::string, float> scores; // by a hash of the sequence
};

// The mean loss of the pairs, and as accuracy the share of pairs of which the model prefers the chosen answer.
Result<EvaluationResult> evaluatePreferences(Engine &engine, std::span<const Batch> batches, const PreferenceLoss &loss,
                                             const ReferenceScores &reference);

} // namespace heddle
