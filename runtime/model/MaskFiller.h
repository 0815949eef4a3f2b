// Predicts the words at a line's mask places, written [MASK] or <mask> as the vocabulary has it, with an encoder whose
// head was trained for it.
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/LineWork.h"
#include "runtime/tokenizers/WordPieces.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct FilledLine {
  struct Choice {
    std::string piece;
    double probability;
  };
  uint64_t number = 0;
  // The line with each mask replaced by its best piece. As it was if the vocabulary makes a mask of another spelling.
  std::string text;
  std::vector<std::vector<Choice>> masks; // in the line's order; each best first
};

class MaskFiller {
public:
  // Returns `choices` (at least 1) for each mask. The vocabulary must have a mask token and outlive this object.
  MaskFiller(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, int64_t choices)
      : engine(engine), model(model), vocabulary(vocabulary), choices(choices), marks(model.inputMarks(vocabulary)),
        mask(vocabulary.piece(*vocabulary.maskId())),
        hasWords(dynamic_cast<const WordPieces *>(&vocabulary) != nullptr) {}

  // Adds the next line. A line that is too long for the model is cut, and masks after the cut stay. Warns of that, and
  // of lines without a mask.
  void add(std::string_view line);
  // Runs one call, for as many lines as fit.
  Status step();
  std::vector<FilledLine> take() { return lines.take(); }
  // See InOrder::skipTo.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // The lines added but not yet taken; busy() if any still need steps.
  uint64_t held() const { return lines.held(); }
  bool busy() const { return !waiting.empty(); }

private:
  struct Job {
    uint64_t number;
    std::string text;
    std::vector<int32_t> tokens;
  };

  Result<FilledLine> fill(const Job &job, std::span<const float> logits) const;
  std::string wordOf(std::span<const int32_t> before, std::span<const float> logits) const;

  Engine &engine;
  const ModelDescription &model;
  const TextCodec &vocabulary;
  int64_t choices;
  InputMarks marks;
  std::string mask; // in a line
  bool hasWords;    // pieces are words, or continue them, as BERT has it; elsewhere a word's piece begins with a space
  std::deque<Job> waiting;
  InOrder<FilledLine> lines;
};

} // namespace heddle
