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

// `maximumLength` limits each text, including its marks. The vocabulary knows the labels; reading fails at other ones.
class LabelledPairs final : public RecordExamples {
public:
  LabelledPairs(const LineBlocks &records, const TextCodec &vocabulary, Labelling kind, int64_t maximumLength,
                const Marks &marks)
      : RecordExamples(records, vocabulary, maximumLength, marks), kind(kind), numbers(vocabulary) {}

private:
  Status addRecord(std::string_view line, const std::string &origin, Examples &examples,
                   CorpusReport &report) const override;

  Labelling kind;
  LabelNumbers numbers;
};

// The tokens of one text of a pair, between its marks.
std::vector<int32_t> encodeMarked(std::string_view text, const TextCodec &vocabulary, Marks marks);

} // namespace heddle
