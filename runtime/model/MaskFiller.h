// Predicts the words at a line's mask places, written [MASK] or <mask> as the vocabulary has it, with an encoder whose
// head was trained for it.
#pragma once

#include "runtime/model/EncoderWork.h"
#include "runtime/tokenizers/WordPieces.h"

#include <cstdint>
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

// A line with masks.
struct LineToFill {
  uint64_t number;
  std::string text;
  std::vector<int32_t> tokens;

  Example example() const { return {.source = tokens}; }
};

class MaskFiller final : public EncoderWork<LineToFill, FilledLine> {
public:
  // Returns `choices` (at least 1) for each mask. The vocabulary must have a mask token.
  MaskFiller(Engine &engine, const ModelDescription &model, const TextCodec &vocabulary, int64_t choices)
      : EncoderWork(engine, model, vocabulary, {"fill masks", "logits", "logits"}), choices(choices),
        marks(model.inputMarks(vocabulary)), mask(vocabulary.piece(*vocabulary.maskId())),
        hasWords(dynamic_cast<const WordPieces *>(&vocabulary) != nullptr) {}

  // Adds the next line. A line that is too long for the model is cut, and masks after the cut stay. Warns of that, and
  // of lines without a mask.
  Status add(std::string_view line);

private:
  Result<FilledLine> answer(const LineToFill &line, size_t index, const PackedSequences &texts,
                            const HostTensor &logits) const override;
  std::string wordOf(std::span<const int32_t> before, std::span<const float> logits) const;

  int64_t choices;
  InputMarks marks;
  std::string mask; // in a line
  bool hasWords;    // as in BERT's vocabulary; in other vocabularies a word's first piece begins with a space
};

} // namespace heddle
