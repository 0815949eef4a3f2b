// Batches without padding: the tokens of all sequences follow one another, and every sequence has a start and a length.
#pragma once

#include "runtime/text/Corpus.h"
#include "runtime/text/Marks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

// What fits into one call. Tokens are counted on each side, as Examples counts them.
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

// The edges of graphs, for each node by itself: `most` places, of which the first `degrees` are the nodes that it looks
// at, and the first `uses` the nodes that look at it, and where among their neighbours it is.
struct NeighbourLists {
  int64_t most = 0;
  std::vector<int32_t> neighbours, degrees, users, slots, uses;

  void add(int64_t nodes, std::span<const Edge> edges);
};

// The sentences of texts, as texts are packed, and the words of each sentence.
struct SentenceLists {
  PackedSequences layout;
  std::vector<int32_t> wordStarts, wordLengths;

  // A text, from a token of the batch on, whose sentences have these lengths.
  void add(int64_t firstToken, std::span<const int32_t> sentences);
};

struct SourceBatch {
  explicit SourceBatch(Marks marks = {}) : marks(marks), lists{.most = marks.neighbours} {}

  Marks marks;
  PackedSequences layout;
  std::vector<int32_t>
      tokens; // a sentence and its end mark, if sources have one; or a whole text, its marks among the tokens
  std::vector<int32_t> types; // of whole texts, where the model wants them: 1 behind the first end mark, 0 before
  NeighbourLists lists;       // of whole texts, where the model wants them
  SentenceLists sentences;    // likewise
  std::vector<float> pixels;  // of images, which have no tokens

  // A sentence, or an image where the model takes images.
  void add(std::span<const int32_t> sentence, std::span<const float> image = {});
  // An edge joins two of the text's tokens; no token has or is more neighbours than the marks say, and no text more
  // sentences.
  void addWhole(std::span<const int32_t> text, const Structure &structure = {});
};

struct Batch {
  explicit Batch(Marks marks = {}) : source(marks), right(marks) {}

  SourceBatch source; // of pairs and of texts with labels; a batch of sequences alone has no source
  PackedSequences target;
  std::vector<int32_t> targetIn;  // the begin mark and a sentence; of a sequence all tokens but the last
  std::vector<int32_t> targetOut; // what is to be predicted: the sentence and the end mark; all tokens but the first

  // For each token to predict: 1, or 0 if it does not count. Empty if all count.
  std::vector<float> weights;

  // Of texts with labels, which have no target: the labels, and where labels are of words the tokens that have them.
  std::vector<int32_t> labels, labelled;
  // Of pairs of texts, of which `source` is the left one: the right one, and grades where the pairs have no labels.
  SourceBatch right;
  std::vector<float> grades;
  std::vector<int32_t> follows; // of sentences that words are hidden of: 1 where the second follows the first

  void add(std::span<const int32_t> source, std::span<const int32_t> target, std::span<const float> image = {});
  void addLabelled(Labelling kind, std::span<const int32_t> text, std::span<const int32_t> textLabels,
                   const Structure &structure = {});
  void addPair(const Examples &examples, size_t example);
  // A sequence alone, of which these tokens count; all but the first if there are none.
  void add(std::span<const int32_t> sequence, std::span<const TokenRange> learnt = {});
  void add(const Examples &examples, size_t example);
  bool hasSource() const { return source.layout.sequences() != 0; }
  bool isOfPairs() const { return right.layout.sequences() != 0; }
  bool hasTarget() const { return target.sequences() != 0; }
  int64_t sequences() const { return hasTarget() ? target.sequences() : source.layout.sequences(); }
  // Of the tokens of the target that count, or of the labels or grades: what the loss is of.
  int64_t predictions() const;
  // For that many more tokens, marks among them.
  bool hasRoomFor(int64_t sourceTokens, int64_t targetTokens, const BatchLimits &limits) const;
  int64_t tokens() const { return source.layout.tokens() + right.layout.tokens() + target.tokens(); }
};

// All examples once, in their order.
std::vector<Batch> packInOrder(const Examples &examples, const BatchLimits &limits);

} // namespace heddle
