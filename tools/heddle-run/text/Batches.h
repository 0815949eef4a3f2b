// Batches without padding: the tokens of all sequences follow one another, and every sequence has a start and a length.
#pragma once

#include "tools/heddle-run/text/Corpus.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::run {

// The token before every target sentence and the one after every sentence.
struct Marks {
  int32_t begin = kBeginId;
  int32_t end = kEndId;
};

// What fits into one call. Tokens are counted on each side, with the mark at a sentence's begin or end.
struct BatchLimits {
  int64_t maximumTokens = 0;
  int64_t maximumSequences = 0;
  int64_t maximumLength = 0;
  Marks marks = {};
};

// The sequences of one side.
struct PackedSequences {
  std::vector<int32_t> positions; // of each token within its sequence
  std::vector<int32_t> starts, lengths;

  int64_t tokens() const { return int64_t(positions.size()); }
  int64_t sequences() const { return int64_t(starts.size()); }
  void add(int64_t length);
};

struct SourceBatch {
  explicit SourceBatch(Marks marks = {}) : marks(marks) {}

  Marks marks;
  PackedSequences layout;
  std::vector<int32_t> tokens; // a sentence and the end mark

  void add(std::span<const int32_t> sentence);
};

struct Batch {
  explicit Batch(Marks marks = {}) : source(marks) {}

  SourceBatch source;
  PackedSequences target;
  std::vector<int32_t> targetIn;  // the begin mark and a sentence
  std::vector<int32_t> targetOut; // the sentence and the end mark: what is to be predicted

  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  bool hasRoomFor(std::span<const int32_t> source, std::span<const int32_t> target, const BatchLimits &limits) const;
  int64_t tokens() const { return source.layout.tokens() + target.tokens(); }
};

// All pairs once, in their order.
std::vector<Batch> packInOrder(const SentencePairs &pairs, const BatchLimits &limits);

} // namespace heddle::run
