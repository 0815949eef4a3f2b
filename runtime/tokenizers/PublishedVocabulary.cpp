#include "runtime/tokenizers/PublishedVocabulary.h"

#include "runtime/text/Lines.h"
#include "runtime/tokenizers/BytePairs.h"
#include "runtime/tokenizers/GgufVocabulary.h"
#include "runtime/tokenizers/NumberedPieces.h"
#include "runtime/tokenizers/SentencePieceVocabulary.h"
#include "runtime/tokenizers/TokenizerJson.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr const char *kEndPiece = "<|endoftext|>";

Result<Merges> readMerges(const std::filesystem::path &path, const PieceTable &table) {
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(path));
  Merges merges;
  for (std::string line; reader.next(line);) {
    if (line.empty() || (reader.lineNumber() == 1 && line.starts_with("#version")))
      continue;
    size_t space = line.find(' ');
    std::string_view left = std::string_view(line).substr(0, space);
    std::string_view right = space == std::string::npos ? "" : std::string_view(line).substr(space + 1);
    HEDDLE_CHECK(merges.add(table, left, right, {path.string(), "line", reader.lineNumber()}));
  }
  HEDDLE_CHECK(reader.status());
  return merges;
}

} // namespace

Result<PublishedVocabulary> PublishedVocabulary::load(const std::filesystem::path &folder) {
  std::error_code error;
  auto has = [&](const char *name) { return std::filesystem::exists(folder / name, error); };
  bool isGguf = isGgufFile(folder);
  if (isGguf || has(kGgufVocabulary)) {
    HEDDLE_ASSIGN(GgufReader file, GgufReader::open(isGguf ? folder : folder / kGgufVocabulary));
    HEDDLE_ASSIGN(Parts parts, readGgufVocabulary(file));
    return PublishedVocabulary(std::move(parts));
  }
  if (!has(kTokenizerJson) && has(kTokenizerModel) && !(has("vocab.json") && has("merges.txt"))) {
    HEDDLE_ASSIGN(Parts parts, readTokenizerModel(folder));
    return PublishedVocabulary(std::move(parts));
  }
  if (!has(kTokenizerJson) && has("vocab.json") && has(kNumberedModel) && !has("merges.txt")) {
    HEDDLE_ASSIGN(Parts parts, readNumberedPieces(folder));
    return PublishedVocabulary(std::move(parts));
  }
  if (!has(kTokenizerJson))
    return loadGpt2(folder);
  if (has("vocab.json") && has("merges.txt")) {
    // The two files describe GPT-2 completely, but not how other models cut words, nor their added tokens.
    HEDDLE_ASSIGN(bool isGpt2, cutsAsGpt2(folder));
    if (isGpt2)
      return loadGpt2(folder);
  }
  HEDDLE_ASSIGN(Parts parts, readTokenizerJson(folder));
  return PublishedVocabulary(std::move(parts));
}

Result<PublishedVocabulary> PublishedVocabulary::loadGpt2(const std::filesystem::path &folder) {
  HEDDLE_CHECK(requireVocabularyFiles(folder, {"vocab.json", "merges.txt"}, "GPT-2"));
  constexpr std::string_view names[] = {"vocab.json", "merges.txt", "generation_config.json"};
  std::string path = (folder / "vocab.json").string();
  Parts parts;
  HEDDLE_ASSIGN(parts.files, readTokenizerFiles(folder, names));
  HEDDLE_ASSIGN(parts.table, PieceTable::fromJson(parts.files.front().bytes, path));
  HEDDLE_ASSIGN(Merges merges, readMerges(folder / "merges.txt", parts.table));
  HEDDLE_ASSIGN(BytePairs model, BytePairs::create(parts.table, std::move(merges), {}, path));
  parts.end = parts.table.find(kEndPiece);
  if (!parts.end)
    return makeError(ErrorKind::Malformed, "'", path, "' is not a vocabulary of GPT-2: it lacks \"", kEndPiece,
                     "\"; take the vocabulary that was published with the model.");
  parts.model = std::make_unique<BytePairs>(std::move(model));
  parts.wholes.add(kEndPiece, *parts.end);
  parts.cutter.add(WordRule{});
  parts.texts = PieceTexts(parts.table, {.isBytes = true}, std::span(&*parts.end, 1));
  return PublishedVocabulary(std::move(parts));
}

void PublishedVocabulary::cut(std::string_view line, TextCutter::Place place,
                              const std::function<void(int32_t)> &onToken, const TextCutter::OnWord &onWord) const {
  for (const TextPart &part : parts.wholes.cut(line)) {
    if (part.whole) {
      onToken(*part.whole);
      continue;
    }
    bool isFirst = part.text.data() == line.data();
    std::string normal = parts.normalizer.apply(part.text, isFirst && place == TextCutter::Place::Continuation);
    for (const TextPart &inner : parts.normalizedWholes.cut(normal))
      if (inner.whole)
        onToken(*inner.whole);
      else
        parts.cutter.cut(inner.text, isFirst && inner.text.data() == normal.data() ? place : TextCutter::Place::Middle,
                         onWord);
  }
}

std::vector<int32_t> PublishedVocabulary::encode(std::string_view line, TextCutter::Place place) const {
  std::vector<int32_t> ids;
  cut(
      line, place, [&](int32_t id) { ids.push_back(id); },
      [&](std::string_view word) { parts.model->append(word, ids); });
  if (rows < parts.table.size()) {
    if (parts.unknown)
      std::ranges::replace_if(ids, [&](int32_t id) { return id >= rows; }, *parts.unknown);
    else
      std::erase_if(ids, [&](int32_t id) { return id >= rows; });
  }
  return ids;
}

std::vector<std::string> PublishedVocabulary::unknownParts(std::string_view line) const {
  std::vector<std::string> unknown;
  auto onWord = [&](std::string_view word) {
    for (std::string_view part : parts.model->unknownParts(word)) {
      if (part.starts_with(kSpaceMark))
        part.remove_prefix(kSpaceMark.size());
      if (!part.empty() && std::ranges::find(unknown, part) == unknown.end())
        unknown.emplace_back(part);
    }
  };
  cut(line, TextCutter::Place::Begin, [](int32_t) {}, onWord);
  return unknown;
}

void PublishedVocabulary::limitTo(int32_t limit) {
  rows = limit;
  parts.wholes.removeFrom(rows);
  parts.normalizedWholes.removeFrom(rows);
  for (std::optional<int32_t> *mark : {&parts.begin, &parts.end, &parts.unknown})
    if (*mark && **mark >= rows)
      mark->reset();
}

std::string PublishedVocabulary::continuation(std::span<const int32_t> before, std::span<const int32_t> ids) const {
  auto isMark = [&](int32_t id) { return marks.contains(id); };
  std::vector<int32_t> said(ids.begin(), ids.end());
  std::erase_if(said, isMark);
  return parts.texts.join(parts.table, said, /*begins=*/std::ranges::all_of(before, isMark));
}

} // namespace heddle
