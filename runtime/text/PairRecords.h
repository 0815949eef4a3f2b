// Pairs of texts: a record of JSON on each line, {"left": "a dog barks", "right": "a dog is loud", "label": "yes"}, or
// with a grade in the label's place, {"left": "...", "right": "...", "grade": 3.5}.
#pragma once

#include "runtime/text/Records.h"

namespace heddle {

struct PairRecord {
  std::string left, right;
  std::string label; // of pairs with labels
  float grade = 0;   // of pairs with grades

  // Fails where the line is no record; `origin` is the line's place. Without `wantsLabels` label and grade are passed
  // over.
  static Result<PairRecord> parse(std::string_view line, const std::string &origin, Labelling kind, bool wantsLabels);
  // Of a line that has the texts with a tab between them.
  static Result<PairRecord> ofLine(std::string_view line, const std::string &origin);
};

// The names of all labels in a file, in their order; none where pairs have grades. Fails where a line is no record.
Result<std::vector<std::string>> collectPairLabels(const LineBlocks &file, Labelling kind);

// A line as a vocabulary is learnt from it: both texts of a record.
std::string textOfPair(std::string_view line);

class LabelledPairs final : public ExampleBlocks {
public:
  // `maximumLength` counts the marks of one text. Records and vocabulary, which knows the labels, outlive this.
  LabelledPairs(const LineBlocks &records, const TextCodec &vocabulary, Labelling kind, int64_t maximumLength,
                Marks marks)
      : records(records), vocabulary(vocabulary), kind(kind), maximumLength(maximumLength), marks(marks),
        numbers(vocabulary) {}

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

// The tokens of a text of a pair, between the marks.
std::vector<int32_t> encodeMarked(std::string_view text, const TextCodec &vocabulary, Marks marks);

} // namespace heddle
