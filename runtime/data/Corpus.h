// Training examples, as token ids.
#pragma once

#include "runtime/data/Marks.h"
#include "runtime/schema/Tasks.h"
#include "runtime/text/LineBlocks.h"
#include "runtime/tokenizers/TextCodec.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

// Tokens [begin, end) of a sequence.
struct TokenRange {
  uint32_t begin, end;
};

// An edge of a graph whose nodes are the tokens of a text, given as token indices: token `to` looks at token `from`.
struct Edge {
  int32_t from, to;
};

// The structure of a text besides its tokens: the edges if the tokens are the nodes of a graph, and the lengths of the
// sentences if the model distinguishes them. Every token belongs to a sentence. An image has pixels instead of tokens,
// and each pixel has the same number of values.
struct Structure {
  std::span<const Edge> edges;
  std::span<const int32_t> sentences;
  std::span<const float> pixels;
  int64_t pixelCount = 0;
};

// Seeds random choices within examples. They differ in each epoch.
struct Draw {
  uint64_t seed = 0, epoch = 0;
};

// Sentence pairs, plain sequences, or sequences with labels, in flat arrays: millions of examples cost four bytes per
// token and no allocation each.
class Examples {
public:
  // Adds a sentence of at least one token and its translation, both without marks.
  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  // Adds an image of `count` pixels and its caption, without marks.
  void addCaption(std::span<const float> pixels, int64_t count, std::span<const int32_t> target) {
    add({}, target);
    allPixels.insert(allPixels.end(), pixels.begin(), pixels.end());
    pixelEnds.push_back(allPixels.size());
    pixelCount = count;
  }
  // Adds a sentence or an image with its target, for a model with these marks.
  void addTranslation(std::span<const int32_t> source, std::span<const float> pixels, std::span<const int32_t> target,
                      const Marks &marks) {
    sourceMarks = marks.sourceMarks();
    if (marks.image.pixels() > 0)
      addCaption(pixels, marks.image.pixels(), target);
    else
      add(source, target);
  }
  // Adds a plain sequence of at least two tokens, including its marks. Each token but the first is predicted from the
  // tokens before it.
  void add(std::span<const int32_t> sequence) { add({}, sequence); }

  // Adds a sequence of which the model learns to write only the tokens in `ranges`. The ranges are in ascending order.
  void addLearnt(std::span<const int32_t> sequence, std::span<const TokenRange> ranges) {
    add(sequence);
    learntRanges.insert(learntRanges.end(), ranges.begin(), ranges.end());
    learntEnds.resize(size(), learntEnds.empty() ? 0 : learntEnds.back());
    learntEnds.back() = learntRanges.size();
  }

  // Adds a text, including its marks, or an image, with its label; or a text with a label for each token, negative for
  // tokens without one. All examples of a corpus are of the same kind.
  void addLabelled(Labelling kind, std::span<const int32_t> tokens, std::span<const int32_t> labels,
                   const Structure &structure = {}) {
    labelled = kind;
    add(tokens, labels);
    allEdges.insert(allEdges.end(), structure.edges.begin(), structure.edges.end());
    edgeEnds.resize(size(), allEdges.size());
    allSentences.insert(allSentences.end(), structure.sentences.begin(), structure.sentences.end());
    sentenceEnds.resize(size(), allSentences.size());
    if (structure.pixelCount == 0)
      return;
    allPixels.insert(allPixels.end(), structure.pixels.begin(), structure.pixels.end());
    pixelEnds.resize(size(), allPixels.size());
    pixelCount = structure.pixelCount;
  }

  // Adds two sentences with hidden words. `doesFollow` is true if the second sentence follows the first.
  void addHidden(std::span<const int32_t> tokens, std::span<const int32_t> labels, bool doesFollow) {
    addLabelled(Labelling::Hidden, tokens, labels);
    follow.push_back(doesFollow);
  }

  // Adds two texts, including their marks, and the label of the pair.
  void addPair(std::span<const int32_t> left, std::span<const int32_t> right, int32_t label) {
    addOther(right);
    addLabelled(Labelling::Pairs, left, {&label, 1});
  }
  // Likewise, with a grade.
  void addGraded(std::span<const int32_t> left, std::span<const int32_t> right, float grade) {
    addOther(right);
    grades.push_back(grade);
    addLabelled(Labelling::Grades, left, {});
  }

  Labelling labelling() const { return labelled; }
  bool follows(size_t example) const { return follow[example] != 0; }
  // The tokens of a sequence that the model learns to write. Empty means every token but the first.
  std::span<const TokenRange> learnt(size_t example) const {
    return example < learntEnds.size() ? slice(learntRanges, learntEnds, example) : std::span<const TokenRange>();
  }
  size_t size() const { return sourceEnds.size(); }
  bool empty() const { return sourceEnds.empty(); }
  bool hasSource(size_t example) const { return pixelCount > 0 || !source(example).empty(); }
  std::span<const int32_t> source(size_t example) const { return slice(sourceIds, sourceEnds, example); }
  std::span<const int32_t> target(size_t example) const { return slice(targetIds, targetEnds, example); }
  // The values of an example's pixels; empty if there are no images.
  std::span<const float> image(size_t example) const {
    return pixelCount > 0 ? slice(allPixels, pixelEnds, example) : std::span<const float>();
  }
  // The right text of a pair.
  std::span<const int32_t> other(size_t example) const { return slice(otherIds, otherEnds, example); }
  float grade(size_t example) const { return grades[example]; }
  Structure structure(size_t example) const {
    if (edgeEnds.empty())
      return {};
    return {slice(allEdges, edgeEnds, example), slice(allSentences, sentenceEnds, example), image(example), pixelCount};
  }

  // The tokens of an example in a call: both sides of a pair with their marks, a sequence without its last token, a
  // text and its labels, or the two texts of a pair.
  int64_t sourceTokens(size_t example) const;
  int64_t targetTokens(size_t example) const;

private:
  template <typename T>
  static std::span<const T> slice(const std::vector<T> &all, const std::vector<uint64_t> &ends, size_t example) {
    uint64_t begin = example == 0 ? 0 : ends[example - 1];
    return std::span(all).subspan(begin, ends[example] - begin);
  }

  void addOther(std::span<const int32_t> tokens) {
    otherIds.insert(otherIds.end(), tokens.begin(), tokens.end());
    otherEnds.push_back(otherIds.size());
  }

  Labelling labelled = Labelling::None;
  std::vector<int32_t> sourceIds, targetIds, otherIds, allSentences;
  std::vector<float> grades;
  std::vector<Edge> allEdges;
  std::vector<float> allPixels;
  int64_t pixelCount = 0;  // of each image; 0 if there are no images
  int64_t sourceMarks = 1; // marks that a call adds to the source of each pair
  std::vector<uint64_t> sourceEnds, targetEnds, otherEnds, edgeEnds, sentenceEnds, pixelEnds;
  std::vector<uint8_t> follow;
  std::vector<TokenRange> learntRanges;
  std::vector<uint64_t> learntEnds; // for the first examples only; later ones have no ranges
};

// Counts of what was read, and of what was left out for each reason.
struct CorpusReport {
  std::string_view unit = "pair"; // what is counted: pairs, documents, records or lines
  uint64_t read = 0;
  uint64_t sequences = 0; // into which documents were cut
  uint64_t blank = 0;     // an empty line on either side of a pair, a document without tokens
  uint64_t recut = 0;     // completions whose tokens differ from those of the whole text
  uint64_t overLong = 0;  // more tokens than a sequence may have
  uint64_t invalidUtf8 = 0;
  uint64_t firstInvalidLine = 0; // the smallest one seen
  std::string firstInvalidFile;

  void noteInvalid(uint64_t line, const std::string &file);
  void add(const CorpusReport &other);
  uint64_t skipped() const { return blank + overLong + invalidUtf8; }
  bool isWorthAWarning() const { return skipped() + recut != 0; }
  // "40000 pairs", "39990 of 40000 pairs; skipped 8 with a blank line, 2 longer than 64 tokens",
  // "12 documents in 30 sequences"
  std::string describe(int64_t maximumLength) const;
};

// A corpus whose examples are read one block at a time, in any order.
class ExampleBlocks {
public:
  virtual ~ExampleBlocks() = default;

  virtual size_t blocks() const = 0;
  virtual uint64_t linesPerBlock() const = 0;

  // Identifies the corpus: a resumed training run must see the corpus that it began with.
  virtual const std::string &fingerprint() const = 0;

  // Appends a block's examples, and adds to the report what was left out. Called from one thread at a time.
  virtual Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const = 0;
};

// The pairs of two text files. If the model takes images, each line of the first file is a record with an "image".
class TextPairs final : public ExampleBlocks {
public:
  // `maximumLength` includes a sentence's begin or end mark. Text and vocabulary outlive this.
  TextPairs(const LineBlocks &text, const TextCodec &vocabulary, int64_t maximumLength, const Marks &marks = {})
      : text(text), vocabulary(vocabulary), maximumLength(maximumLength), marks(marks) {}

  size_t blocks() const override { return text.blocks(); }
  uint64_t linesPerBlock() const override { return text.linesPerBlock(); }
  const std::string &fingerprint() const override { return text.fingerprint(); }
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  const LineBlocks &text;
  const TextCodec &vocabulary;
  int64_t maximumLength;
  Marks marks;
};

struct Corpus {
  Examples examples;
  CorpusReport report;
};

// Reads all examples into memory, in order.
Result<Corpus> readCorpus(const ExampleBlocks &blocks);

} // namespace heddle
