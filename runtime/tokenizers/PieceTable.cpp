#include "runtime/tokenizers/PieceTable.h"

#include "runtime/core/File.h"
#include "runtime/core/Json.h"
#include "runtime/text/Lines.h"

namespace heddle {
namespace {

constexpr uint64_t kFileLimit = 256ull << 20;
constexpr uint64_t kMostPieces = 1 << 24;

// An addition to an error message if the folder has a tokenizer.json; otherwise empty.
std::string aboutTokenizerJson(const std::filesystem::path &folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "tokenizer.json", error) ? " Heddle does not read its tokenizer.json." : "";
}

} // namespace

Result<std::string> readVocabularyFile(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kFileLimit));
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Result<std::vector<TokenizerFile>> readTokenizerFiles(const std::filesystem::path &folder,
                                                      std::span<const std::string_view> names) {
  std::vector<TokenizerFile> files;
  std::error_code error;
  for (std::string_view name : names)
    if (std::filesystem::exists(folder / name, error)) {
      HEDDLE_ASSIGN(std::string bytes, readVocabularyFile(folder / name));
      files.push_back({std::string(name), std::move(bytes)});
    }
  return files;
}

Status requireVocabularyFiles(const std::filesystem::path &folder, std::initializer_list<const char *> names,
                              std::string_view kind) {
  std::error_code error;
  std::string all;
  for (const char *name : names)
    all += str(all.empty() ? "" : " and ", name);
  for (const char *name : names) {
    if (std::filesystem::exists(folder / name, error))
      continue;
    HEDDLE_CHECK(requireFolder(folder));
    return makeError(ErrorKind::NotFound, "'", folder.string(), "' has no ", name, ", and the vocabulary of ", kind,
                     " is ", all, "; download the missing files from the page of the model.",
                     aboutTokenizerJson(folder));
  }
  return Success();
}

Result<PieceTable> PieceTable::fromJson(std::string_view text, const std::string &name) {
  HEDDLE_ASSIGN(nlohmann::json json, parseJson(text, str("'", name, "'")));
  return fromObject(json, name);
}

Result<PieceTable> PieceTable::fromObject(const nlohmann::json &json, const std::string &name) {
  auto malformed = [&](const auto &...why) {
    return makeError(ErrorKind::Malformed, "'", name, "' is not a vocabulary: ", why...,
                     ". A vocabulary is an object of pieces with their numbers.");
  };
  if (!json.is_object())
    return malformed("it holds no JSON object");
  PieceTable table;
  table.texts.reserve(json.size());
  table.ids.reserve(json.size());
  for (const auto &[piece, id] : json.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= kMostPieces)
      return malformed("the number of \"", piece, "\" is ", id.dump());
    size_t place = id.get<size_t>();
    if (place >= table.texts.size())
      table.texts.resize(place + 1);
    if (!table.texts[place].empty())
      return malformed("\"", table.texts[place], "\" and \"", piece, "\" have the same number");
    table.texts[place] = piece;
    table.ids[piece] = int32_t(place);
  }
  return table;
}

Status PieceTable::add(int32_t id, const std::string &piece, const std::string &name) {
  if (id < 0 || size_t(id) >= kMostPieces || piece.empty())
    return makeError(ErrorKind::Malformed, "'", name, "' adds the token \"", piece, "\" with the number ", id,
                     "; a token has a text, and a number below ", kMostPieces, ".");
  if (size_t(id) >= texts.size())
    texts.resize(size_t(id) + 1);
  texts[size_t(id)] = piece;
  ids[piece] = id;
  return Success();
}

Result<PieceTable> PieceTable::readLines(const std::filesystem::path &path) {
  PieceTable table;
  HEDDLE_ASSIGN(table.texts, heddle::readLines(path));
  for (size_t id = 0; id < table.texts.size(); ++id)
    table.ids[table.texts[id]] = int32_t(id);
  return table;
}

std::optional<int32_t> PieceTable::find(std::string_view piece) const {
  auto found = ids.find(piece);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

std::string PieceTable::shown(int32_t id) const { return contains(id) ? texts[size_t(id)] : str("#", id); }

} // namespace heddle
