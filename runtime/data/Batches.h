// Batches without padding: the tokens of all sequences are concatenated, and each sequence has a start and a length.
#pragma once

#include "runtime/data/Corpus.h"
#include "runtime/data/Marks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// The limits of one call. Tokens are counted per side, as Example counts rows.
struct BatchLimits {
  int64_t maximumTokens = 0;
  int64_t maximumSequences = 0;
  int64_t maximumLength = 0;
  Marks marks = {};
};

// The sequences of one side.
struct PackedSequences {
  std::vector<int32_t> positions; // each token's position in its sequence
  std::vector<int32_t> starts, lengths;

  int64_t tokens() const { return int64_t(positions.size()); }
  int64_t sequences() const { return int64_t(starts.size()); }
  void add(int64_t length);
};

// Edges of graphs, as lists per node. Each node has `most` slots. The first `degrees` slots of `neighbours` hold the
// nodes that it looks at. The first `uses` slots of `users` hold the nodes that look at it, and `slots` its index among
// the neighbours of each of them.
struct NeighbourLists {
  int64_t most = 0;
  std::vector<int32_t> neighbours, degrees, users, slots, uses;

  void add(int64_t nodes, std::span<const Edge> edges);
};

// The texts or images that the model reads.
struct SourceBatch {
  explicit SourceBatch(Marks marks = {}) : marks(marks), lists{.most = marks.neighbours} {}

  Marks marks;
  PackedSequences layout;
  std::vector<int32_t> tokens;
  std::vector<int32_t> types; // if the model wants them: 1 from the second of two texts on, else 0
  NeighbourLists lists;       // if the model wants them
  PackedSequences sentences;  // if the model distinguishes them: the sentences of each text
  PackedSequences words;      // and the tokens of each sentence
  std::vector<float> pixels;  // of images, which have no tokens

  // Adds the source of an example. The number of edges to and from a token and the number of sentences of a text must
  // not exceed the limits in `marks`.
  void add(const Example &example);
};

// The examples of a call. Members that no example has are empty.
struct Batch {
  explicit Batch(Marks marks = {}) : source(marks), right(marks) {}

  SourceBatch source, right; // the right texts of pairs, of which `source` has the left ones
  PackedSequences target;
  std::vector<int32_t> targetIn, targetOut; // all tokens of each target but the last; the tokens to predict

  // For each token to predict: 1, or 0 if it does not count. Empty if all count.
  std::vector<float> weights;

  // If targets come in pairs, for each sequence: the other sequence of its pair; 1 if it is the preferred one, else -1.
  std::vector<int32_t> partner;
  std::vector<float> preferred;

  // Pairs of texts that are all sequences of the source: the texts of each pair, and the pairs as a single group. Each
  // pair's label is then its place in the group.
  std::vector<int32_t> pairLeft, pairRight;
  PackedSequences pairs;

  std::vector<int32_t> labels, labelled; // the labels, and the tokens that they belong to unless they are of texts
  std::vector<float> grades;
  std::vector<int32_t> follows;

  void add(const Example &example);
  bool isOfPairs() const { return right.layout.sequences() != 0; }
  bool hasTarget() const { return target.sequences() != 0; }
  int64_t sequences() const { return hasTarget() ? target.sequences() : source.layout.sequences(); }
  // The number of predictions in the loss: target tokens that count, pairs of targets, or labels and grades.
  int64_t predictions() const;
  int64_t preferences() const { return int64_t(partner.size()) / 2; } // pairs of targets
  bool hasRoomFor(const Example &example, const BatchLimits &limits) const;
  void addPair(const Example &example);
  void addTarget(std::span<const int32_t> sequence, std::span<const TokenRange> learnt);
  int64_t tokens() const { return source.layout.tokens() + right.layout.tokens() + target.tokens(); }
};

// Packs all examples once, in order.
std::vector<Batch> packInOrder(const Examples &examples, const BatchLimits &limits);

} // namespace heddle
