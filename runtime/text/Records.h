// Texts with labels: a record of JSON on each line. {"text": "...", "label": "spam"} is a text with a label;
// {"tokens": ["a", "b"], "labels": ["N", "V"]} has a label for each word, and so has "text" in the place of "tokens",
// whose words have white space between them. {"tokens": ["a", "b"], "edges": [[0, 1]], "labels": ["N", "V"]} is a
// graph, whose nodes are the words: word 1 looks at word 0. {"text": ["who is there", "it is me"], "label": "x"} has
// sentences, and
// {"image": [[0, 1], [1, 0]], "label": "x"} is an image.
#pragma once

#include "runtime/text/Batches.h"
#include "runtime/text/Corpus.h"
#include "runtime/text/Images.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct Record {
  std::string text;               // words with spaces between them where the record has tokens
  std::vector<std::string> words; // where labels are of words, or the record has tokens
  std::vector<std::string> labels;
  std::optional<std::vector<Edge>> edges; // by words
  std::vector<std::string> sentences;     // where the record has a list of them
  std::optional<Image> image;             // in the place of a text, or beside it

  // Fails where the line is no record; `origin` is the line's place, as in "'train.jsonl' line 3". Without
  // `wantsLabels` labels are passed over.
  static Result<Record> parse(std::string_view line, const std::string &origin, Labelling kind, bool wantsLabels);
  // Of a line that is the text itself.
  static Record ofLine(std::string_view line, Labelling kind);
};

// The tokens of a text between the marks, and which of them begin a word, in the words' order.
struct EncodedRecord {
  std::vector<int32_t> tokens;
  std::vector<size_t> wordStarts; // where labels are of words
  std::vector<Edge> edges;        // by tokens, where the marks say that the model is told of them
  std::vector<int32_t> sentences; // their lengths, likewise: the first has the begin mark, and the last the end mark

  std::vector<float> pixels; // in the place of tokens, where the model takes images
  int64_t pixelCount = 0;

  Structure structure() const { return {edges, sentences, pixels, pixelCount}; }
  size_t length() const { return pixelCount > 0 ? size_t(pixelCount) : tokens.size(); }

  // Leaves out what lies behind the first tokens, of which the last becomes the end mark.
  void cut(size_t length, Marks marks);
};
// Fails if the record lacks the edges, sentences or image that the model takes. `origin`: see Record::parse().
// `folder`: where the files named in the record are.
Result<EncodedRecord> encodeRecord(const Record &record, Labelling kind, const TextCodec &vocabulary,
                                   const Marks &marks, const std::string &origin,
                                   const std::filesystem::path &folder = {});

// Labels are strings; whole numbers and flags count as what they are written as. Nothing where the value is none, or
// blank.
std::optional<std::string> labelOf(const nlohmann::json &value);
std::string shown(const nlohmann::json &value); // shortened, for an error

// The numbers of the labels that a vocabulary knows.
class LabelNumbers {
public:
  explicit LabelNumbers(const TextCodec &vocabulary);
  // Fails if the training data had no such label. `origin`: see Record::parse().
  Result<int32_t> of(const std::string &label, const std::string &origin) const;

private:
  const TextCodec &vocabulary; // which outlives this
  std::map<std::string, int32_t, std::less<>> numbers;
};

// The names of all labels in a file, in their order. Fails where a line is no record.
Result<std::vector<std::string>> collectLabels(const LineBlocks &file, Labelling kind);

// A line as a vocabulary is learnt from it: the text of a record.
std::string textOfRecord(std::string_view line);

class LabelledTexts final : public ExampleBlocks {
public:
  // `maximumLength` counts the marks. Records and vocabulary, which knows the labels, outlive this.
  LabelledTexts(const LineBlocks &records, const TextCodec &vocabulary, Labelling kind, int64_t maximumLength,
                Marks marks);

  size_t blocks() const override { return records.blocks(); }
  uint64_t linesPerBlock() const override { return records.linesPerBlock(); }
  const std::string &fingerprint() const override { return records.fingerprint(); }
  // Fails where a line is no record, or has a label that the vocabulary does not know.
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  const LineBlocks &records;
  const TextCodec &vocabulary;
  Labelling kind;
  int64_t maximumLength;
  Marks marks;
  LabelNumbers numbers;
};

} // namespace heddle
