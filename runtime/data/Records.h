// Texts with labels, one JSON record per line:
//   {"text": "...", "label": "spam"}: a text with a label
//   {"tokens": ["a", "b"], "labels": ["N", "V"]}: a label for each word. "text" may replace "tokens"; its words are then
//     separated by white space.
//   {"tokens": ["a", "b"], "edges": [[0, 1]], "labels": ["N", "V"]}: a graph whose nodes are the words; word 1 looks at
//     word 0
//   {"text": ["who is there", "it is me"], "label": "x"}: a text with sentences
//   {"image": [[0, 1], [1, 0]], "label": "x"}: an image
//   {"left": "a dog barks", "right": "a dog is loud", "label": "yes"}: a pair of texts; or with "grade": 3.5 instead of a
//     label
#pragma once

#include "runtime/data/Batches.h"
#include "runtime/data/Corpus.h"
#include "runtime/data/Images.h"
#include "runtime/tokenizers/EncoderInput.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

// The words of a text, which white space separates.
std::vector<std::string> splitWords(std::string_view text);

struct Record {
  std::string text;               // the words joined by spaces if the record has tokens; the left text of a pair
  std::string right;              // the right text of a pair
  std::vector<std::string> words; // if words have labels, or the record has tokens
  std::vector<std::string> labels;
  float grade = 0;                        // if pairs have grades
  std::optional<std::vector<Edge>> edges; // between words
  std::vector<std::string> sentences;     // if the record has a list of sentences
  std::optional<Image> image;             // instead of a text, or beside it

  // Fails if the line is no such record. `origin` names the line in errors, as in "'train.jsonl' line 3". Without
  // `wantsLabels`, labels and grades are ignored.
  static Result<Record> parse(std::string_view line, const std::string &origin, Labelling kind, bool wantsLabels);
  // Makes a record of a line that is the text itself, or both texts with a tab between them. Fails if there is no tab.
  static Result<Record> ofLine(std::string_view line, const std::string &origin, Labelling kind);
};

// The tokens of texts between their marks, and the index of the first token of each word.
struct EncodedRecord {
  std::vector<int32_t> tokens;
  std::vector<int32_t> wordStarts; // if words have labels
  std::vector<Edge> edges;         // between tokens, if the model takes edges
  std::vector<int32_t> sentences;  // lengths, if the model takes sentences; they include the begin and the end mark

  std::optional<InputTexts> texts; // the texts among the tokens, if the vocabulary defines an encoder's marks

  std::vector<float> pixels;  // instead of tokens, if the model takes images
  std::vector<int32_t> right; // the right text of a pair

  Example example() const {
    size_t second = texts && texts->secondEnd > 0 ? texts->secondEnd - texts->secondLength : 0;
    return {.source = tokens,
            .right = right,
            .edges = edges,
            .sentences = sentences,
            .pixels = pixels,
            .secondBegin = int32_t(second)};
  }

  // Truncates texts that are longer to `length` tokens. The last of them is the end mark.
  void cut(size_t length, Marks marks);
};
// If the vocabulary defines an encoder's marks, a tab in a text that has a label separates two texts, which are one input.
// Fails if the record lacks the edges, sentences or image that the model takes. `origin`: see Record::parse(). `folder`
// contains the files named in the record.
Result<EncodedRecord> encodeRecord(const Record &record, Labelling kind, const TextCodec &vocabulary,
                                   const Marks &marks, const std::string &origin,
                                   const std::filesystem::path &folder = {});

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

// The names of all labels in a file, sorted; none if pairs have grades. Fails if a line is no record.
Result<std::vector<std::string>> collectLabels(const LineBlocks &file, Labelling kind);

// The text of a line from which a vocabulary is learnt: the record's text, or both texts of a pair.
std::string textOfRecord(std::string_view line);
std::string textOfPair(std::string_view line);

// `maximumLength` of each text includes the marks. The vocabulary knows the labels; reading fails at other ones.
class LabelledTexts final : public RecordExamples {
public:
  LabelledTexts(const LineBlocks &records, const TextCodec &vocabulary, Labelling kind, int64_t maximumLength,
                const Marks &marks)
      : RecordExamples(records, vocabulary, maximumLength, marks), kind(kind), numbers(vocabulary) {}

private:
  Status addRecord(std::string_view line, const std::string &origin, Examples &examples,
                   CorpusReport &report) const override;

  Labelling kind;
  LabelNumbers numbers;
};

} // namespace heddle
