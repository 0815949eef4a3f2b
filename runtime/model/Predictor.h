// Predicts labels for lines, which are texts, pairs of texts separated by a tab, or records.
#pragma once

#include "runtime/data/Records.h"
#include "runtime/model/EncoderWork.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct PredictedLabel {
  std::string name;
  double probability = 0; // among the labels that the training data had
};

// A line's tokens; nullopt for a blank line.
using PredictableLine = std::optional<EncodedRecord>;

// Reads the line with this number as a text, or as a record. Fails if it is none that the model takes. A text that is
// too long for the model is cut, with a warning.
Result<PredictableLine> readPredictable(std::string_view line, bool isRecord, uint64_t number,
                                        const ModelDescription &model, const TextCodec &vocabulary);

struct PredictedLine {
  std::vector<PredictedLabel> labels; // one, or one for each word; empty for a blank line
  std::optional<float> grade;         // instead of labels, if the model gives grades or has a single label: its logit
};

struct LineToPredict {
  uint64_t number;
  EncodedRecord text;

  Example example() const { return text.example(); }
};

class Predictor final : public EncoderWork<LineToPredict, PredictedLine> {
public:
  // The vocabulary knows the labels.
  Predictor(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary)
      : EncoderWork(engine, model, vocabulary, {"predict labels", "logits", "logits"}) {}

  // Adds the next line. Words after a cut get the label "?".
  void add(PredictableLine line);
  // Reads the next line, as readPredictable() does, and adds it.
  Status add(std::string_view line, bool isRecord);

private:
  Result<PredictedLine> answer(const LineToPredict &line, size_t index, const PackedSequences &texts,
                               const HostTensor &output) const override;
  Result<PredictedLabel> choose(std::span<const float> logits) const;
};

} // namespace heddle
