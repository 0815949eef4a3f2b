#include "runtime/tokenizers/SentencePieceVocabulary.h"

#include "runtime/tokenizers/JsonFields.h"
#include "runtime/tokenizers/ScoredPieces.h"
#include "runtime/tokenizers/SentencePieceFile.h"
#include "runtime/tokenizers/Unigram.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace heddle {
namespace {

using nlohmann::json;
using Parts = PublishedVocabulary::Parts;
using Kind = SentencePieceFile::Kind;

constexpr std::string_view kMark = "\u2581", kConfig = "tokenizer_config.json", kAdded = "added_tokens.json";
// The last three are not part of the vocabulary but are needed for answers and chats, so checkpoints keep them too.
constexpr std::string_view kFiles[] = {PublishedVocabulary::kTokenizerModel,
                                       kConfig,
                                       kAdded,
                                       "special_tokens_map.json",
                                       "chat_template.jinja",
                                       "generation_config.json"};

class Reader {
public:
  Reader(const SentencePieceFile &file, std::filesystem::path folder, std::string path)
      : file(file), folder(std::move(folder)), path(std::move(path)) {}

  // Returns the parts that the model's file has: pieces and normalisation, without the added tokens of other files.
  Result<Parts> readModel() {
    Parts parts;
    if (file.model != SentencePieceFile::BytePairs && file.model != SentencePieceFile::Unigram)
      return unreadable("a model of whole words or of single characters");
    if (file.spaceBehind || !file.escapesSpaces)
      return unreadable("spaces that are not at the beginning of pieces");
    HEDDLE_CHECK(readPieces(parts));
    HEDDLE_CHECK(readNormalizer(parts));
    return parts;
  }

  Result<Parts> read(std::vector<TokenizerFile> files) {
    HEDDLE_ASSIGN(Parts parts, readModel());
    HEDDLE_CHECK(readAdded(files, parts));
    parts.texts = PieceTexts(parts.table, ruleOfModel(file), added);
    parts.files = std::move(files);
    return parts;
  }

private:
  Error unreadable(std::string_view what) const {
    return makeError(ErrorKind::Unsupported, "'", path, "' has ", what,
                     "; of SentencePiece's models Heddle reads byte pairs and unigram models whose pieces begin with "
                     "the mark of a space.");
  }

  Status readPieces(Parts &parts) {
    std::vector<ScoredPieces::Piece> pieces;
    std::vector<double> scores;
    std::optional<int32_t> unknown;
    for (const SentencePieceFile::Piece &piece : file.pieces) {
      auto id = int32_t(scores.size());
      HEDDLE_CHECK(parts.table.add(id, piece.text, path));
      if (!std::isfinite(piece.score))
        return makeError(ErrorKind::Malformed, "'", path, "': the score of piece ", id,
                         " is no number; download the file again.");
      bool isMark = piece.kind == Kind::Unknown || piece.kind == Kind::Control;
      pieces.push_back({piece.text, piece.score, !isMark && piece.kind != Kind::Byte, piece.kind == Kind::Unused});
      scores.push_back(piece.score);
      if (piece.kind == Kind::Unknown)
        unknown = id;
      if (isMark)
        addWhole(parts, piece.text, id, /*isMark=*/true, {});
      else if (piece.kind == Kind::UserDefined) {
        parts.normalizedWholes.add(piece.text, id);
        added.push_back(id);
      }
    }
    if (file.model == SentencePieceFile::BytePairs)
      parts.model = std::make_unique<ScoredPieces>(parts.table, std::move(pieces), unknown);
    else if (!unknown)
      return unreadable("no piece for what is unknown");
    else
      parts.model = std::make_unique<Unigram>(parts.table, std::move(scores), *unknown, file.usesBytes);
    return Success();
  }

  Status readNormalizer(Parts &parts) const {
    if (!file.characterMap.empty()) {
      std::optional<CharacterMap> map = CharacterMap::parse(file.characterMap);
      if (!map)
        return makeError(ErrorKind::Malformed, "'", path,
                         "': 'precompiled_charsmap' is no table of characters; download the file again.");
      parts.normalizer.add(std::move(*map));
    }
    if (file.dropsSpaces) {
      parts.normalizer.add(TextNormalizer::Strip{true, true});
      parts.normalizer.add(TextNormalizer::ReplaceSpaces{" "});
    }
    if (file.spaceFirst)
      parts.normalizer.add(TextNormalizer::Prepend{" "});
    parts.normalizer.add(TextNormalizer::Replace{" ", std::string(kMark)});
    return Success();
  }

  void addWhole(Parts &parts, const std::string &text, int32_t id, bool isMark, WholeTokens::Blanks blanks) {
    parts.wholes.add(text, id, blanks);
    added.push_back(id);
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
      if (isNew || std::ranges::find(added, int32_t(id)) == added.end())
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
  std::vector<int32_t> added; // tokens recognised in a text as a whole
};

} // namespace

PieceRule ruleOfModel(const SentencePieceFile &file) {
  PieceRule rule{.replaced = {{std::string(kMark), " "}}, .hasBytes = true};
  if (file.spaceFirst) {
    rule.stripped = " ";
    rule.strips = 1;
  }
  return rule;
}

Result<Parts> partsOfModel(const SentencePieceFile &file, const std::string &path) {
  return Reader(file, {}, path).readModel();
}

Result<Parts> readTokenizerModel(const std::filesystem::path &folder) {
  HEDDLE_ASSIGN(std::vector<TokenizerFile> files, readTokenizerFiles(folder, kFiles));
  std::string path = (folder / PublishedVocabulary::kTokenizerModel).string();
  HEDDLE_ASSIGN(SentencePieceFile file, SentencePieceFile::parse(files.front().bytes, path));
  return Reader(file, folder, std::move(path)).read(std::move(files));
}

} // namespace heddle
