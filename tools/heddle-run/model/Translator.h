// Greedy translation. Sentences of one call are decoded side by side; one that has ended leaves, so that no step is
// spent on it.
#pragma once

#include "tools/heddle-run/model/Description.h"
#include "tools/heddle-run/model/Engine.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::run {

struct TranslationOptions {
  // Tokens of a translation at most; 0: the source's and 50, as in section 6.1 of "Attention Is All You Need".
  int64_t maximumLength = 0;
  // Without the key-value cache every step evaluates all of the translation so far through `eval`: slow, and an
  // independent check of `encode` and `decode_step`.
  bool cache = true;
};

class Translator {
public:
  Translator(Engine &engine, const ModelDescription &model, TranslationOptions options)
      : engine(engine), model(model), options(options) {}

  // The longest source, in tokens without the end mark.
  int64_t maximumSourceLength() const { return std::min(model.maximumLength, model.maximumTokens) - 1; }

  // Translates sentences of 1 to maximumSourceLength() tokens; the results come in the same order, without marks.
  Result<std::vector<std::vector<int32_t>>> translate(std::span<const std::vector<int32_t>> sentences);

private:
  // A sentence in work: `rows` rows of the caches are its own, from `firstRow` on.
  struct Slot {
    size_t sentence;
    int64_t firstRow;
    int64_t rows;
    size_t place; // among the sources of the call
  };

  int64_t rowsFor(const std::vector<int32_t> &sentence) const;
  Status translateGroup(std::span<const std::vector<int32_t>> sentences, std::span<const Slot> slots,
                        std::vector<std::vector<int32_t>> &translations);
  Result<std::vector<int32_t>> stepWithCache(std::span<const Slot> active, const SourceBatch &sources,
                                             std::span<const std::vector<int32_t>> translations);
  Result<std::vector<int32_t>> stepWithoutCache(std::span<const Slot> active,
                                                std::span<const std::vector<int32_t>> sentences,
                                                std::span<const std::vector<int32_t>> translations);

  Engine &engine;
  const ModelDescription &model;
  TranslationOptions options;
};

} // namespace heddle::run
