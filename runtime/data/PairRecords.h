// Pairs of texts, one JSON record per line: {"left": "a dog barks", "right": "a dog is loud", "label": "yes"}, or with
// a grade instead of a label, {"left": "...", "right": "...", "grade": 3.5}.
#pragma once

#include "runtime/data/Records.h"

namespace heddle {

struct PairRecord {
  std::string left, right;
  std::string label; // if pairs have labels
  float grade = 0;   // if pairs have grades

  // Fails if the line is no such record. `origin` names the line in errors. Without `wantsLabels`, label and grade are
  // ignored.
  static Result<PairRecord> parse(std::string_view line, const std::string &origin, Labelling kind, bool wantsLabels);
  // Parses a line with the two texts separated by a tab.
  static Result<PairRecord> ofLine(std::string_view line, const std::string &origin);
};

// The names of all labels in a file, sorted; empty if pairs have grades. Fails if a line is no record.
Result<std::vector<std::string>> collectPairLabels(const LineBlocks &file, Labelling kind);

// The text of a line from which a vocabulary is learnt: both texts of the record.
std::string textOfPair(std::string_view line);

class LabelledPairs final : public ExampleBlocks {
public:
  // `maximumLength` limits each text, including its marks. Records and vocabulary outlive this; the vocabulary knows
  // the labels.
  LabelledPairs(const LineBlocks &records, const TextCodec &vocabulary, Labelling kind, int64_t maximumLength,
                Marks marks)
      : records(records), vocabulary(vocabulary), kind(kind), maximumLength(maximumLength), marks(marks),
        numbers(vocabulary) {}

  size_t blocks() const override { return records.blocks(); }
  uint64_t linesPerBlock() const override { return records.linesPerBlock(); }
  const std::string &fingerprint() const override { return records.fingerprint(); }
  // Fails if a line is no record or has a label that the vocabulary does not know.
  Status read(size_t block, Draw draw, Examples &examples, CorpusReport &report) const override;

private:
  const LineBlocks &records;
  const TextCodec &vocabulary;
  Labelling kind;
  int64_t maximumLength;
  Marks marks;
  LabelNumbers numbers;
};

// The tokens of one text of a pair, between its marks.
std::vector<int32_t> encodeMarked(std::string_view text, const TextCodec &vocabulary, Marks marks);

} // namespace heddle
