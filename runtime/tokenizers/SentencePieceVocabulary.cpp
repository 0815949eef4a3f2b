#include "runtime/tokenizers/SentencePieceVocabulary.h"

#include "runtime/tokenizers/JsonFields.h"
#include "runtime/tokenizers/ScoredPieces.h"
#include "runtime/tokenizers/SentencePieceFile.h"
#include "runtime/tokenizers/Unigram.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace heddle {
namespace {

using nlohmann::json;
using Parts = PublishedVocabulary::Parts;
using Kind = SentencePieceFile::Kind;

constexpr std::string_view kConfig = "tokenizer_config.json", kAdded = "added_tokens.json";
// The last three are not part of the vocabulary but are needed for answers and chats, so checkpoints keep them too.
constexpr std::string_view kFiles[] = {PublishedVocabulary::kTokenizerModel,
                                       kConfig,
                                       kAdded,
                                       "special_tokens_map.json",
                                       "chat_template.jinja",
                                       "generation_config.json"};

bool isMark(const SentencePieceFile::Piece &piece) {
  return piece.kind == Kind::Unknown || piece.kind == Kind::Control;
}

// Reads the files beside a model.
class Reader {
public:
  Reader(const SentencePieceFile &file, std::filesystem::path folder, std::string path)
      : file(file), folder(std::move(folder)), path(std::move(path)) {}

  Result<Parts> read(std::vector<TokenizerFile> files) {
    HEDDLE_ASSIGN(Parts parts, partsOfModel(file, path));
    for (size_t id = 0; id < file.pieces.size(); ++id)
      if (isMark(file.pieces[id]))
        addWhole(parts, file.pieces[id].text, int32_t(id), /*isMark=*/true, {});
      else if (file.pieces[id].kind == Kind::UserDefined)
        added.insert(int32_t(id));
    HEDDLE_CHECK(readAdded(files, parts));
    parts.texts = PieceTexts(parts.table, ruleOfModel(file), {});
    parts.files = std::move(files);
    return parts;
  }

private:
  void addWhole(Parts &parts, const std::string &text, int32_t id, bool isMark, WholeTokens::Blanks blanks) {
    parts.wholes.add(text, id, blanks);
    added.insert(id);
    if (isMark)
      parts.marks.push_back(id);
  }

  Result<json> readJson(const std::vector<TokenizerFile> &files, std::string_view name) const {
    auto found = std::ranges::find(files, name, &TokenizerFile::name);
    if (found == files.end())
      return json();
    return parseJson(found->bytes, str("'", (folder / name).string(), "'"));
  }

  // Reads tokens that are not in the model, and the marks.
  Status readAdded(const std::vector<TokenizerFile> &files, Parts &parts) {
    HEDDLE_ASSIGN(json config, readJson(files, kConfig));
    HEDDLE_ASSIGN(json more, readJson(files, kAdded));
    auto add = [&](const std::string &text, int64_t id, const json &token) -> Status {
      bool isNew = parts.table.find(text) != id;
      if (isNew)
        HEDDLE_CHECK(parts.table.add(id >= 0 && id < (1 << 24) ? int32_t(id) : -1, text, (folder / kAdded).string()));
      if (isNew || !added.contains(int32_t(id)))
        addWhole(parts, text, int32_t(id), isTrue(token, "special"),
                 {isTrue(token, "lstrip"), isTrue(token, "rstrip"), isTrue(token, "single_word")});
      return Success();
    };
    if (more.is_object())
      for (const auto &[text, id] : more.items())
        if (id.is_number_integer())
          HEDDLE_CHECK(add(text, id.get<int64_t>(), json()));
    if (const json &decoder = at(config, "added_tokens_decoder"); decoder.is_object())
      for (const auto &[number, token] : decoder.items()) {
        int64_t id = -1;
        auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
        if (error == std::errc() && end == number.data() + number.size() && !textAt(token, "content").empty())
          HEDDLE_CHECK(add(textAt(token, "content"), id, token));
      }
    // The end mark comes only from the configuration: the model's own may be one of several.
    parts.end = markOf(config, "eos_token", "", parts);
    if (!isTrue(config, "add_bos_token", true))
      return Success();
    parts.begin = markOf(config, "bos_token", file.begin, parts);
    if (parts.begin)
      parts.marks.push_back(*parts.begin);
    return Success();
  }

  // The piece that the configuration names, as a string or in an object; otherwise the model's `own` piece.
  static std::optional<int32_t> markOf(const json &config, const char *key, const std::string &own,
                                       const Parts &parts) {
    const json &given = at(config, key);
    std::string text = given.is_object() ? textAt(given, "content") : textAt(config, key);
    return parts.table.find(text.empty() ? own : text);
  }

  const SentencePieceFile &file;
  std::filesystem::path folder;
  std::string path;
  std::unordered_set<int32_t> added; // tokens that are recognised in a text as a whole
};

} // namespace

PieceRule ruleOfModel(const SentencePieceFile &file) {
  PieceRule rule{.replaced = {{std::string(kSpaceMark), " "}}, .hasBytes = file.usesBytes};
  if (file.spaceFirst || file.dropsSpaces) {
    rule.stripped = " ";
    rule.strips = file.dropsSpaces ? std::numeric_limits<size_t>::max() : 1;
  }
  return rule;
}

Result<Parts> partsOfModel(const SentencePieceFile &file, const std::string &path, std::optional<PieceTable> numbers) {
  auto unreadable = [&](const char *what) {
    return makeError(ErrorKind::Unsupported, "'", path, "' has ", what, ", which Heddle does not read.");
  };
  Parts parts;
  bool areWords = file.model == SentencePieceFile::Word;
  SentencePieceText text{
      .addsSpace = file.spaceFirst, .spaceBehind = file.spaceBehind, .dropsSpaces = file.dropsSpaces};
  std::vector<ScoredPieces::Piece> scored;
  std::vector<Unigram::Piece> pieces;
  PieceTable listed;
  std::optional<int32_t> unknown;
  for (const SentencePieceFile::Piece &piece : file.pieces) {
    auto id = int32_t(scored.size());
    HEDDLE_CHECK(parts.table.add(id, piece.text, path));
    if (std::isnan(piece.score))
      return makeError(ErrorKind::Malformed, "'", path, "': the score of piece ", id,
                       " is no number; download the file again.");
    if (piece.kind == Kind::Unknown)
      unknown = id;
    bool isUnused = piece.kind == Kind::Unused, isMade = !isMark(piece) && piece.kind != Kind::Byte;
    scored.push_back({piece.text, piece.score, isMade, isUnused});
    if (!isMade || isUnused)
      continue;
    HEDDLE_CHECK(listed.add(id, piece.text, path));
    if (piece.kind != Kind::UserDefined) {
      pieces.push_back({piece.text, piece.score});
      continue;
    }
    text.kept.add(piece.text, id);
    if (!areWords) // a model of words never cuts them
      parts.normalizedWholes.add(piece.text,
                                 numbers ? numbers->find(piece.text).value_or(*numbers->find("<unk>")) : id);
  }
  if (numbers) {
    parts.table = std::move(*numbers);
    unknown = parts.table.find("<unk>");
  }
  parts.unknown = unknown;
  if (file.changesDecoded || !file.escapesSpaces || (areWords && file.spaceBehind))
    return unreadable(file.changesDecoded ? "a character table for decoded texts ('denormalizer_spec')"
                      : areWords          ? "words without the mark of a space before them"
                                          : "spaces without a mark");
  if (file.model == SentencePieceFile::BytePairs)
    parts.model = std::make_unique<ScoredPieces>(parts.table, unknown, file.usesBytes, std::move(scored));
  else if (file.model == SentencePieceFile::Unigram && unknown)
    parts.model =
        std::make_unique<Unigram>(parts.table, *unknown, file.usesBytes, std::move(pieces), /*isSingle=*/true);
  else if (areWords || file.model == SentencePieceFile::Character)
    parts.model = std::make_unique<ListedPieces>(parts.table, unknown, file.usesBytes, std::move(listed), areWords);
  else
    return unreadable("no piece for what is unknown, or is of a later kind");
  if (!file.characterMap.empty()) {
    std::optional<CharacterMap> map = CharacterMap::parse(file.characterMap);
    if (!map)
      return makeError(ErrorKind::Malformed, "'", path, "' is not a SentencePiece model: its table of characters ",
                       "('precompiled_charsmap') is damaged; download it again.");
    text.map = std::move(*map);
  }
  parts.normalizer.add(std::move(text));
  parts.texts = PieceTexts(parts.table, ruleOfModel(file), {});
  return parts;
}

Result<Parts> readTokenizerModel(const std::filesystem::path &folder) {
  HEDDLE_ASSIGN(std::vector<TokenizerFile> files, readTokenizerFiles(folder, kFiles));
  std::string path = (folder / PublishedVocabulary::kTokenizerModel).string();
  HEDDLE_ASSIGN(SentencePieceFile file, SentencePieceFile::parse(files.front().bytes, path));
  return Reader(file, folder, std::move(path)).read(std::move(files));
}

} // namespace heddle
