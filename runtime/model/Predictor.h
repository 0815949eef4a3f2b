// Predicts labels for lines, which are texts, pairs of texts separated by a tab, or records.
#pragma once

#include "runtime/data/Records.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/LineWork.h"

#include <deque>
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

class Predictor {
public:
  // The vocabulary knows the labels and must outlive this object.
  Predictor(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary)
      : engine(engine), model(model), vocabulary(vocabulary) {}

  // Adds the next line. Words after a cut get the label "?".
  void add(PredictableLine line);
  // Reads the next line, as readPredictable() does, and adds it.
  Status add(std::string_view line, bool isRecord);
  // Runs one call, for as many lines as fit.
  Status step();
  std::vector<PredictedLine> take() { return lines.take(); }
  // See InOrder::skipTo.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // Lines added but not yet taken.
  uint64_t held() const { return lines.held(); }
  // Returns true if any lines still need steps.
  bool busy() const { return !waiting.empty(); }

private:
  struct Job {
    uint64_t number;
    EncodedRecord text;
  };

  Result<PredictedLabel> choose(std::span<const float> logits) const;

  Engine &engine;
  const ModelDescription &model;
  const TextCodec &vocabulary;
  std::deque<Job> waiting;
  InOrder<PredictedLine> lines;
};

} // namespace heddle
