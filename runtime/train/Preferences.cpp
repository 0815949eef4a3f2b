#include "runtime/train/Preferences.h"

#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/core/Span.h"
#include "runtime/text/Hash.h"

#include <cmath>

namespace heddle {
namespace {

constexpr int kFormat = 1;
constexpr uint64_t kFileLimit = uint64_t(4) << 30;

// Identifies a sequence of a batch: its tokens, and which of them count.
std::string keyOf(const Batch &batch, int64_t sequence) {
  auto first = size_t(batch.target.starts[size_t(sequence)]), count = size_t(batch.target.lengths[size_t(sequence)]);
  ContentHash hash;
  auto add = [&](const auto &values) {
    auto part = std::as_bytes(std::span(values).subspan(first, count));
    hash.add({reinterpret_cast<const char *>(part.data()), part.size()});
  };
  add(batch.targetIn);
  add(batch.targetOut);
  if (!batch.weights.empty())
    add(batch.weights);
  return hash.hexadecimal();
}

} // namespace

std::optional<PreferenceLoss> PreferenceLoss::of(const ModelDescription &model) {
  std::string objective = model.json.value("objective", "likelihood");
  if (objective == "likelihood")
    return std::nullopt;
  return PreferenceLoss{objective == "ipo", model.json.value("dpo_beta", 0.1),
                        model.json.value("dpo_label_smoothing", 0.0)};
}

double PreferenceLoss::of(double margin) const {
  if (isMean)
    return std::pow(margin - 1 / (2 * beta), 2);
  auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  return (1 - smoothing) * softplus(-beta * margin) + smoothing * softplus(beta * margin);
}

Status ReferenceScores::add(Engine &engine, const Batch &batch) {
  HEDDLE_ASSIGN(std::vector<double> losses, targetLosses(engine, batch));
  for (size_t i = 0; i < losses.size(); ++i)
    scores[keyOf(batch, int64_t(i))] = float(-losses[i]);
  return Success();
}

Result<ReferenceScores> ReferenceScores::compute(Engine &engine, const ExampleBlocks &corpus, const BatchLimits &limits,
                                                 std::span<const Batch> validation) {
  Span span("score the reference");
  ReferenceScores result;
  for (size_t block = 0; block < corpus.blocks(); ++block) {
    Examples examples;
    CorpusReport report;
    HEDDLE_CHECK(corpus.read(block, {}, examples, report));
    for (const Batch &batch : packInOrder(examples, limits))
      HEDDLE_CHECK(result.add(engine, batch));
  }
  for (const Batch &batch : validation)
    HEDDLE_CHECK(result.add(engine, batch));
  return result;
}

Status ReferenceScores::save(const std::filesystem::path &folder) const {
  nlohmann::json file = {{"format", kFormat}, {"log_probabilities", scores}};
  return writeFile(folder / kFile, file.dump());
}

Result<ReferenceScores> ReferenceScores::load(const std::filesystem::path &folder) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(folder / kFile, kFileLimit));
  HEDDLE_ASSIGN(nlohmann::json json, parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                               str("'", (folder / kFile).string(), "'")));
  ReferenceScores result;
  bool fits = json.is_object() && json.value("format", nlohmann::json()) == kFormat &&
              json.contains("log_probabilities") && json["log_probabilities"].is_object();
  const nlohmann::json table = fits ? json["log_probabilities"] : nlohmann::json::object();
  for (const auto &[key, value] : table.items()) {
    fits &= value.is_number();
    result.scores[key] = fits ? value.get<float>() : 0;
  }
  if (!fits)
    return makeError(ErrorKind::Malformed, "'", (folder / kFile).string(),
                     "' does not hold the reference's log probabilities; begin the training anew, without --resume.");
  return result;
}

Result<std::vector<float>> ReferenceScores::of(const Batch &batch) const {
  std::vector<float> values;
  for (int64_t i = 0; i < batch.target.sequences(); ++i) {
    auto found = scores.find(keyOf(batch, i));
    if (found == scores.end())
      return makeError(ErrorKind::InvalidArgument,
                       "the text has a pair that the reference did not score when the training began: the text has "
                       "changed. Begin a training with it, without --resume.");
    values.push_back(found->second);
  }
  return values;
}

Result<EvaluationResult> evaluatePreferences(Engine &engine, std::span<const Batch> batches, const PreferenceLoss &loss,
                                             const ReferenceScores &reference) {
  Span span("evaluate");
  EvaluationResult result;
  double sum = 0, right = 0;
  for (const Batch &batch : batches) {
    HEDDLE_ASSIGN(std::vector<double> losses, targetLosses(engine, batch));
    HEDDLE_ASSIGN(std::vector<float> before, reference.of(batch));
    auto beyond = [&](size_t i) {
      auto first = size_t(batch.target.starts[i]), count = size_t(batch.target.lengths[i]);
      double tokens = 0;
      for (size_t token = first; token < first + count; ++token)
        tokens += batch.weights.empty() ? 1.0 : double(batch.weights[token]);
      return (-losses[i] - double(before[i])) / (loss.isMean ? std::max(tokens, 1.0) : 1.0);
    };
    for (size_t i = 0; i < batch.preferred.size(); ++i) {
      if (batch.preferred[i] <= 0)
        continue;
      double margin = beyond(i) - beyond(size_t(batch.partner[i]));
      sum += loss.of(margin);
      right += margin > 0 ? 1 : 0;
      ++result.tokens;
    }
  }
  if (result.tokens != 0) {
    result.loss = sum / double(result.tokens);
    result.accuracy = right / double(result.tokens);
  }
  return result;
}

} // namespace heddle
