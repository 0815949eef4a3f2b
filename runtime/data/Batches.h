// Batches without padding: the tokens of all sequences are concatenated, and each sequence has a start and a length.
#pragma once

#include "runtime/data/Corpus.h"
#include "runtime/data/Marks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// The limits of one call. Tokens are counted per side, as Examples counts them.
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

// The sentences of texts, packed like the texts themselves, and the words of each sentence.
struct SentenceLists {
  PackedSequences layout;
  std::vector<int32_t> wordStarts, wordLengths;

  // Adds a text that starts at token `firstToken` of the batch. `sentences` has the lengths of its sentences.
  void add(int64_t firstToken, std::span<const int32_t> sentences);
};

struct SourceBatch {
  explicit SourceBatch(Marks marks = {}) : marks(marks), lists{.most = marks.neighbours} {}

  Marks marks;
  PackedSequences layout;
  std::vector<int32_t> tokens; // a sentence and its end mark, if sources have one; or a whole text with its marks
  std::vector<int32_t> types;  // of whole texts, if the model wants them: 0 up to the first end mark, 1 after it
  NeighbourLists lists;        // of whole texts, if the model wants them
  SentenceLists sentences;     // likewise
  std::vector<float> pixels;   // of images, which have no tokens

  // Adds a sentence, or an image if the model takes images.
  void add(std::span<const int32_t> sentence, std::span<const float> image = {});
  // An edge joins two tokens of the text. The number of edges to and from a token and the number of sentences of a text
  // must not exceed the limits in `marks`.
  void addWhole(std::span<const int32_t> text, const Structure &structure = {});
};

struct Batch {
  explicit Batch(Marks marks = {}) : source(marks), right(marks) {}

  SourceBatch source; // of pairs and of texts with labels; empty in a batch of plain sequences
  PackedSequences target;
  std::vector<int32_t> targetIn;  // the begin mark and a sentence; for a plain sequence all tokens but the last
  std::vector<int32_t> targetOut; // the tokens to predict: the sentence and the end mark; or all tokens but the first

  // For each token to predict: 1, or 0 if it does not count. Empty if all count.
  std::vector<float> weights;

  // Texts with labels have no target. These are the labels and, for labels of words, the indices of the labelled
  // tokens.
  std::vector<int32_t> labels, labelled;
  // For pairs of texts: the right text (`source` is the left one), and the grades if the pairs have no labels.
  SourceBatch right;
  std::vector<float> grades;
  std::vector<int32_t> follows; // for sentence pairs with hidden words: 1 if the second sentence follows the first

  void add(std::span<const int32_t> source, std::span<const int32_t> target, std::span<const float> image = {});
  void addLabelled(Labelling kind, std::span<const int32_t> text, std::span<const int32_t> textLabels,
                   const Structure &structure = {});
  void addPair(const Examples &examples, size_t example);
  // Adds a plain sequence. Only tokens in `learnt` count; if it is empty, all but the first do.
  void add(std::span<const int32_t> sequence, std::span<const TokenRange> learnt = {});
  void add(const Examples &examples, size_t example);
  bool hasSource() const { return source.layout.sequences() != 0; }
  bool isOfPairs() const { return right.layout.sequences() != 0; }
  bool hasTarget() const { return target.sequences() != 0; }
  int64_t sequences() const { return hasTarget() ? target.sequences() : source.layout.sequences(); }
  // The number of predictions in the loss: target tokens that count, or labels and grades.
  int64_t predictions() const;
  // Returns true if that many more tokens, including marks, fit.
  bool hasRoomFor(int64_t sourceTokens, int64_t targetTokens, const BatchLimits &limits) const;
  int64_t tokens() const { return source.layout.tokens() + right.layout.tokens() + target.tokens(); }
};

// Packs all examples once, in order.
std::vector<Batch> packInOrder(const Examples &examples, const BatchLimits &limits);

} // namespace heddle
