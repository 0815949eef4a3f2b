#include "runtime/data/PairRecords.h"

#include "runtime/core/Json.h"
#include "runtime/text/Utf8.h"

#include <cmath>
#include <set>

namespace heddle {

Result<PairRecord> PairRecord::parse(std::string_view line, const std::string &origin, Labelling kind,
                                     bool wantsLabels) {
  auto bad = [&](std::string_view what) {
    return makeError(ErrorKind::Malformed, origin, " ", what,
                     R"(; each line is a record such as {"left": "a dog barks", "right": )", R"("a dog is loud", )",
                     kind == Labelling::Grades ? R"("grade": 3.5}.)" : R"("label": "yes"}.)");
  };
  if (!isValidUtf8(line))
    return bad("is not UTF-8");
  Result<nlohmann::json> json = parseJson(line, origin);
  if (!json.ok())
    return bad("is not JSON");
  if (!json->is_object())
    return bad("is not an object of JSON");
  PairRecord record;
  for (auto [key, text] : {std::pair("left", &record.left), std::pair("right", &record.right)}) {
    auto found = json->find(key);
    if (found == json->end() || !found->is_string())
      return bad(str("has no \"", key, "\", a string"));
    *text = found->get<std::string>();
    if (isBlank(*text))
      return bad(str("has a \"", key, "\" without a word"));
  }
  if (!wantsLabels)
    return record;
  const char *key = kind == Labelling::Grades ? "grade" : "label";
  auto found = json->find(key);
  if (found == json->end())
    return bad(str("has no \"", key, "\""));
  if (kind == Labelling::Grades) {
    record.grade = found->is_number() ? found->get<float>() : NAN;
    if (!std::isfinite(record.grade))
      return bad(str("has the grade ", shown(*found), ", and a grade is a number"));
    return record;
  }
  std::optional<std::string> label = labelOf(*found);
  if (!label)
    return bad(str("has the label ", shown(*found), ", and a label is a string that is not blank or a whole number"));
  record.label = std::move(*label);
  return record;
}

Result<PairRecord> PairRecord::ofLine(std::string_view line, const std::string &origin) {
  size_t tab = line.find('\t');
  if (tab == std::string_view::npos || isBlank(line.substr(0, tab)) || isBlank(line.substr(tab + 1)))
    return makeError(ErrorKind::Malformed, origin,
                     " is no pair of texts; write both with a tab between them, or give records with "
                     "--records.");
  PairRecord record;
  record.left = line.substr(0, tab);
  record.right = line.substr(tab + 1);
  return record;
}

Result<std::vector<std::string>> collectPairLabels(const LineBlocks &file, Labelling kind) {
  std::set<std::string> labels;
  HEDDLE_CHECK(forEachRecord(file, [&](std::string_view line, const std::string &origin) -> Status {
    HEDDLE_ASSIGN(PairRecord record, PairRecord::parse(line, origin, kind, /*wantsLabels=*/true));
    if (kind == Labelling::Pairs)
      labels.insert(std::move(record.label));
    return Success();
  }));
  return std::vector<std::string>(labels.begin(), labels.end());
}

std::string textOfPair(std::string_view line) {
  // Lines that are no records were reported earlier.
  Result<PairRecord> record = PairRecord::parse(line, "", Labelling::Pairs, /*wantsLabels=*/false);
  return record.ok() ? record->left + " " + record->right : std::string();
}

std::vector<int32_t> encodeMarked(std::string_view text, const TextCodec &vocabulary, Marks marks) {
  std::vector<int32_t> tokens = vocabulary.encode(text);
  tokens.insert(tokens.begin(), marks.begin);
  tokens.push_back(marks.end);
  return tokens;
}

Status LabelledPairs::addRecord(std::string_view line, const std::string &origin, Examples &examples,
                                CorpusReport &report) const {
  HEDDLE_ASSIGN(PairRecord record, PairRecord::parse(line, origin, kind, /*wantsLabels=*/true));
  int32_t label = 0;
  if (kind == Labelling::Pairs) {
    HEDDLE_ASSIGN(label, numbers.of(record.label, origin));
  }
  std::vector<int32_t> left = encodeMarked(record.left, vocabulary, marks),
                       right = encodeMarked(record.right, vocabulary, marks);
  if (int64_t(std::max(left.size(), right.size())) > maximumLength)
    ++report.overLong;
  else if (kind == Labelling::Grades)
    examples.add({.source = left, .right = right, .grade = {&record.grade, 1}});
  else
    examples.add({.source = left, .right = right, .labels = {&label, 1}});
  return Success();
}

} // namespace heddle
