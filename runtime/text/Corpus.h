// What a model learns from, as token identifiers.
#pragma once

#include "runtime/text/LineBlocks.h"
#include "runtime/text/Marks.h"
#include "runtime/text/TextCodec.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle {

// What labels are of, where a model gives labels: of each text, of each of its words, of the words that are hidden from
// the model, or of each pair of texts, which may have a grade in the label's place.
enum class Labelling { None, Texts, Words, Hidden, Pairs, Grades };

inline bool isOfPairs(Labelling kind) { return kind == Labelling::Pairs || kind == Labelling::Grades; }

// Tokens [begin, end) of a sequence.
struct TokenRange {
  uint32_t begin, end;
};

// Of a graph whose nodes are a text's tokens, by their places in the text: token `to` looks at token `from`.
struct Edge {
  int32_t from, to;
};

// What a text is made of beside its tokens: edges where these are a graph's nodes, and the lengths of its sentences
// where the model tells them apart. Each token is of a sentence. An image has pixels in the place of tokens, and as
// many numbers for each.
struct Structure {
  std::span<const Edge> edges;
  std::span<const int32_t> sentences;
  std::span<const float> pixels;
  int64_t pixelCount = 0;
};

// What random choices within examples are drawn by: other choices in each epoch.
struct Draw {
  uint64_t seed = 0, epoch = 0;
};

// Sentence pairs, sequences alone, or sequences with labels, in flat arrays: a corpus of millions of them costs four
// bytes a token and not an allocation each.
class Examples {
public:
  // A sentence, of at least one token, and its translation, without marks.
  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  // An image, of so many pixels, and its caption, without marks.
  void addCaption(std::span<const float> pixels, int64_t count, std::span<const int32_t> target) {
    add({}, target);
    allPixels.insert(allPixels.end(), pixels.begin(), pixels.end());
    pixelEnds.push_back(allPixels.size());
    pixelCount = count;
  }
  // Either of them, of a model with these marks.
  void addTranslation(std::span<const int32_t> source, std::span<const float> pixels, std::span<const int32_t> target,
                      const Marks &marks) {
    sourceMarks = marks.sourceMarks();
    if (marks.image.pixels() > 0)
      addCaption(pixels, marks.image.pixels(), target);
    else
      add(source, target);
  }
  // A sequence alone, of at least two tokens, its marks among them: each token but the first is predicted from those
  // before it.
  void add(std::span<const int32_t> sequence) { add({}, sequence); }

  // The same, of which a model learns to write these tokens: the ranges follow each other.
  void addLearnt(std::span<const int32_t> sequence, std::span<const TokenRange> ranges) {
    add(sequence);
    learntRanges.insert(learntRanges.end(), ranges.begin(), ranges.end());
    learntEnds.resize(size(), learntEnds.empty() ? 0 : learntEnds.back());
    learntEnds.back() = learntRanges.size();
  }

  // A text, its marks among the tokens, or an image, and its label; or a label for each of its tokens, below 0 where it
  // has none. The examples of a corpus are of one kind.
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

  // Two sentences of which words are hidden, and whether the second follows the first.
  void addHidden(std::span<const int32_t> tokens, std::span<const int32_t> labels, bool doesFollow) {
    addLabelled(Labelling::Hidden, tokens, labels);
    follow.push_back(doesFollow);
  }

  // Two texts, their marks among the tokens, and the label of the pair.
  void addPair(std::span<const int32_t> left, std::span<const int32_t> right, int32_t label) {
    addOther(right);
    addLabelled(Labelling::Pairs, left, {&label, 1});
  }
  // The same with a grade.
  void addGraded(std::span<const int32_t> left, std::span<const int32_t> right, float grade) {
    addOther(right);
    grades.push_back(grade);
    addLabelled(Labelling::Grades, left, {});
  }

  Labelling labelling() const { return labelled; }
  bool follows(size_t example) const { return follow[example] != 0; }
  // The tokens of a sequence that a model learns to write; none stands for all that another precedes.
  std::span<const TokenRange> learnt(size_t example) const {
    return example < learntEnds.size() ? slice(learntRanges, learntEnds, example) : std::span<const TokenRange>();
  }
  size_t size() const { return sourceEnds.size(); }
  bool empty() const { return sourceEnds.empty(); }
  bool hasSource(size_t example) const { return pixelCount > 0 || !source(example).empty(); }
  std::span<const int32_t> source(size_t example) const { return slice(sourceIds, sourceEnds, example); }
  std::span<const int32_t> target(size_t example) const { return slice(targetIds, targetEnds, example); }
  // The numbers of an example's pixels; empty where there are no images.
  std::span<const float> image(size_t example) const {
    return pixelCount > 0 ? slice(allPixels, pixelEnds, example) : std::span<const float>();
  }
  std::span<const int32_t> other(size_t example) const {
    return slice(otherIds, otherEnds, example);
  } // the right text of a pair
  float grade(size_t example) const { return grades[example]; }
  Structure structure(size_t example) const {
    if (edgeEnds.empty())
      return {};
    return {slice(allEdges, edgeEnds, example), slice(allSentences, sentenceEnds, example), image(example), pixelCount};
  }

  // What a call holds of an example: a pair's sides with their marks, a sequence without its last token, a text with
  // its labels, the texts of a pair.
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
  int64_t pixelCount = 0;  // of each image; 0: there are no images
  int64_t sourceMarks = 1; // that a call adds to the source of each pair
  std::vector<uint64_t> sourceEnds, targetEnds, otherEnds, edgeEnds, sentenceEnds, pixelEnds;
  std::vector<uint8_t> follow;
  std::vector<TokenRange> learntRanges;
  std::vector<uint64_t> learntEnds; // of the first examples
};

// What was read and what was left out, and why.
struct CorpusReport {
  std::string_view unit = "pair"; // what is read: pairs or documents
  uint64_t read = 0;
  uint64_t sequences = 0; // that documents were cut into
  uint64_t blank = 0;     // an empty line on either side of a pair, a document without tokens
  uint64_t recut = 0;     // completions whose tokens are not those of the whole text
  uint64_t overLong = 0;  // more tokens than one sequence may have
  uint64_t invalidUtf8 = 0;
  uint64_t firstInvalidLine = 0; // the smallest of those seen
  std::string firstInvalidFile;

  void noteInvalid(uint64_t line, const std::string &file);
  void add(const CorpusReport &other);
  uint64_t skipped() const { return blank + overLong + invalidUtf8; }
  bool isWorthAWarning() const { return skipped() + recut != 0; }
  // "40000 pairs", "39990 of 40000 pairs; skipped 8 with a blank line, 2 longer than 64 tokens",
  // "12 documents in 30 sequences"
  std::string describe(int64_t maximumLength) const;
};

// A corpus whose examples are read a block at a time, in any order.
class ExampleBlocks {
public:
  virtual ~ExampleBlocks() = default;

  virtual size_t blocks() const = 0;
  virtual uint64_t linesPerBlock() const = 0;

  // Tells two corpora apart: a resumed training run must see the one that it began with.
  virtual const std::string &fingerprint() const = 0;

  // Appends a block's examples, and to the report what was left out. Called from one thread at a time.
  virtual Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const = 0;
};

// The pairs of two text files, of which the first has images where the model takes any: a record with an "image" on
// each line.
class TextPairs final : public ExampleBlocks {
public:
  // `maximumLength` counts the mark at a sentence's begin or end. Text and vocabulary outlive this.
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

// All examples, in memory and in their order.
Result<Corpus> readCorpus(const ExampleBlocks &blocks);

} // namespace heddle
