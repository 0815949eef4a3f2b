// Says what may stand in a line's places that are marked [MASK], by an encoder with a head that was trained for it.
#pragma once

#include "runtime/model/Description.h"
#include "runtime/model/Engine.h"
#include "runtime/model/LineWork.h"
#include "runtime/text/Batches.h"
#include "runtime/text/WordPieces.h"

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
  std::string text;                       // the line, each mask replaced by its best piece
  std::vector<std::vector<Choice>> masks; // in the line's order; of each the best first
};

class MaskFiller {
public:
  static constexpr std::string_view kMask = "[MASK]";

  // `choices` of each mask, at least 1. The vocabulary, which has a mask, outlives this.
  MaskFiller(Engine &engine, const ModelDescription &model, const WordPieces &vocabulary, int64_t choices)
      : engine(engine), model(model), vocabulary(vocabulary), choices(choices) {}

  // The next line. What is too long for the model is cut, masks behind it stay: a warning says so, and that a line has
  // no mask.
  void add(std::string_view line);
  // One call, for as many of the lines as it holds.
  Status step();
  std::vector<FilledLine> take() { return lines.take(); }
  // As InOrder's.
  void skipTo(uint64_t number) { lines.skipTo(number); }
  // Added and not yet taken, and of these the ones that still need steps.
  uint64_t held() const { return lines.held(); }
  bool busy() const { return !waiting.empty(); }

private:
  struct Job {
    uint64_t number;
    std::string text;
    std::vector<int32_t> tokens;
  };

  Result<FilledLine> fill(const Job &job, std::span<const float> logits) const;

  Engine &engine;
  const ModelDescription &model;
  const WordPieces &vocabulary;
  int64_t choices;
  std::deque<Job> waiting;
  InOrder<FilledLine> lines;
};

} // namespace heddle
