// Training examples, as token ids.
#pragma once

#include "runtime/data/Marks.h"
#include "runtime/schema/Tasks.h"
#include "runtime/text/LineBlocks.h"
#include "runtime/tokenizers/TextCodec.h"

#include <cstdint>
#include <functional>
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

// Seeds random choices within examples. They differ in each epoch.
struct Draw {
  uint64_t seed = 0, epoch = 0;
};

// The parts of an example by their roles, as views. Tokens include the marks that the model sees.
struct Example {
  std::span<const int32_t> source = {}; // the text that the model reads; the left text of a pair
  std::span<const int32_t> right = {};  // the right text of a pair
  std::span<const int32_t> target = {}; // each token but the first is predicted from the tokens before it
  // The tokens of the target that the model learns to write, in ascending order; empty: all but the first.
  std::span<const TokenRange> learnt = {};
  // The labels, and the tokens of the source that they belong to. Without these tokens the label is of the whole text.
  std::span<const int32_t> labels = {}, labelled = {};
  std::span<const float> grade = {};     // of a pair, instead of a label
  std::span<const int32_t> follows = {}; // of two sentences with hidden words: 1 if the second follows the first
  // The structure of the source: its edges if its tokens are the nodes of a graph, and the lengths of its sentences if
  // the model distinguishes them. Every token belongs to a sentence.
  std::span<const Edge> edges = {};
  std::span<const int32_t> sentences = {};
  std::span<const float> pixels = {}; // of an image in place of the source; all images of a model have one shape
  int32_t secondBegin =
      0; // of two texts in one source, the index of the second one's first token; 0: there is one text
  // The right text of a pair if both texts are sequences of the source.
  std::span<const int32_t> partner = {};
  // A second target, to which the model prefers the first, and the tokens of it that count.
  std::span<const int32_t> other = {};
  std::span<const TokenRange> otherLearnt = {};

  // The sequences of each side.
  int64_t sequences() const { return other.empty() && partner.empty() ? 1 : 2; }
  // The rows that the example takes in a call: of the source, and of the target, the right text or the labels.
  int64_t sourceRows(const Marks &marks) const {
    return int64_t(source.size() + partner.size() + pixels.size() / size_t(marks.image.channels));
  }
  int64_t targetRows() const {
    int64_t others = other.empty() ? 0 : int64_t(other.size()) - 1;
    return !target.empty() ? int64_t(target.size()) - 1 + others
                           : int64_t(right.empty() ? labels.size() : right.size());
  }
};

// A sentence or an image with its target, and the marks that translating adds to them.
struct MarkedPair {
  MarkedPair(std::span<const int32_t> source, std::span<const int32_t> target, std::span<const float> pixels,
             const Marks &marks);
  Example example() const { return {.source = source, .target = target, .pixels = pixels}; }

  std::vector<int32_t> source, target;
  std::span<const float> pixels;
};

// Lists one behind the other in one array.
template <typename T> class Lists {
public:
  // Sets list `index`, which comes after all lists so far. The lists between them stay empty.
  void set(size_t index, std::span<const T> list) {
    if (list.empty())
      return;
    ends.resize(index, values.size());
    values.insert(values.end(), list.begin(), list.end());
    ends.push_back(values.size());
  }
  std::span<const T> operator[](size_t index) const {
    if (index >= ends.size())
      return {};
    uint64_t begin = index == 0 ? 0 : ends[index - 1];
    return std::span(values).subspan(begin, ends[index] - begin);
  }

private:
  std::vector<T> values;
  std::vector<uint64_t> ends;
};

// Examples in flat arrays: millions of them cost four bytes per token and no allocation each.
class Examples {
public:
  void add(const Example &example);
  Example operator[](size_t index) const;
  size_t size() const { return count; }
  bool empty() const { return count == 0; }

private:
  size_t count = 0;
  Lists<int32_t> source, right, target, labels, labelled, follows, sentences, second, partner, other;
  Lists<TokenRange> learnt, otherLearnt;
  Lists<Edge> edges;
  Lists<float> grade, pixels;
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

// The examples of the lines of text files.
class LineExamples : public ExampleBlocks {
public:
  size_t blocks() const override { return text.blocks(); }
  uint64_t linesPerBlock() const override { return text.linesPerBlock(); }
  const std::string &fingerprint() const override { return text.fingerprint(); }

protected:
  // Text and vocabulary outlive this.
  LineExamples(const LineBlocks &text, const TextCodec &vocabulary, int64_t maximumLength, const Marks &marks)
      : text(text), vocabulary(vocabulary), maximumLength(maximumLength), marks(marks) {}

  const LineBlocks &text;
  const TextCodec &vocabulary;
  int64_t maximumLength;
  Marks marks;
};

// The pairs of two text files. If the model takes images, each line of the first file is a record with an "image".
// `maximumLength` includes a sentence's begin or end mark.
class TextPairs final : public LineExamples {
public:
  TextPairs(const LineBlocks &text, const TextCodec &vocabulary, int64_t maximumLength, const Marks &marks = {})
      : LineExamples(text, vocabulary, maximumLength, marks) {}

  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;
};

// Calls `use` with each line that is not blank, and with its place for errors, as in "'train.jsonl' line 3". Ends at the
// first failure.
using RecordUse = std::function<Status(std::string_view line, const std::string &origin)>;
Status forEachRecord(const LineBlocks &file, const RecordUse &use);

// Examples of a file with a record on each line.
class RecordExamples : public LineExamples {
public:
  // Fails if a line is no record.
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const final;

protected:
  using LineExamples::LineExamples;
  virtual Status addRecord(std::string_view line, const std::string &origin, Examples &examples,
                           CorpusReport &report) const = 0;
};

struct Corpus {
  Examples examples;
  CorpusReport report;
};

// Reads all examples into memory, in order.
Result<Corpus> readCorpus(const ExampleBlocks &blocks);

} // namespace heddle
