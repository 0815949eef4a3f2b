#include "runtime/tokenizers/NumberedPieces.h"

#include "runtime/core/Json.h"
#include "runtime/tokenizers/JsonFields.h"
#include "runtime/tokenizers/SentencePieceFile.h"
#include "runtime/tokenizers/SentencePieceVocabulary.h"

#include <algorithm>
#include <sstream>

namespace heddle {
namespace {

using nlohmann::json;
using Parts = PublishedVocabulary::Parts;

constexpr std::string_view kPieces = "vocab.json", kConfig = "tokenizer_config.json";
// The last ones are not part of the vocabulary, and checkpoints keep them too.
constexpr std::string_view kFiles[] = {kPieces,
                                       PublishedVocabulary::kNumberedModel,
                                       kConfig,
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "generation_config.json"};

// The languages of each list, in the order of their tokens behind the pieces.
constexpr std::string_view kLanguages[][2] = {
    {"m2m100",
     "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
     "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl "
     "ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"},
    {"wmt21", "en ha is ja cs ru zh de"}};

} // namespace

Result<Parts> readNumberedPieces(const std::filesystem::path &folder) {
  HEDDLE_ASSIGN(std::vector<TokenizerFile> files, readTokenizerFiles(folder, kFiles));
  auto bytesOf = [&](std::string_view name) -> std::string_view {
    auto found = std::ranges::find(files, name, &TokenizerFile::name);
    return found == files.end() ? std::string_view() : std::string_view(found->bytes);
  };
  std::string modelPath = (folder / PublishedVocabulary::kNumberedModel).string(), path = (folder / kPieces).string();
  HEDDLE_ASSIGN(SentencePieceFile file,
                SentencePieceFile::parse(bytesOf(PublishedVocabulary::kNumberedModel), modelPath));
  HEDDLE_ASSIGN(PieceTable numbers, PieceTable::fromJson(bytesOf(kPieces), path));
  std::optional<int32_t> unknown = numbers.find("<unk>"), end = numbers.find("</s>");
  if (!unknown || !end)
    return makeError(ErrorKind::Malformed, "'", path, "' is not a vocabulary of M2M-100: it lacks ",
                     unknown ? "</s>" : "<unk>", "; take the vocabulary that was published with the model.");
  HEDDLE_ASSIGN(Parts parts, partsOfModel(file, modelPath, std::move(numbers)));
  json config;
  if (!bytesOf(kConfig).empty()) {
    HEDDLE_ASSIGN(config, parseJson(bytesOf(kConfig), str("'", (folder / kConfig).string(), "'")));
  }

  parts.end = end;
  for (const char *mark : {"<s>", "<pad>", "</s>", "<unk>"})
    if (std::optional<int32_t> id = parts.table.find(mark)) {
      parts.wholes.add(mark, *id);
      parts.marks.push_back(*id);
    }
  std::string list = textAt(config, "language_codes"), source = textAt(config, "src_lang");
  const auto *languages = std::ranges::find(kLanguages, list.empty() ? "m2m100" : std::string_view(list),
                                            [](const auto &known) { return known[0]; });
  if (languages == std::end(kLanguages))
    return makeError(ErrorKind::Unsupported, "'", (folder / kConfig).string(), "' has the language_codes '", list,
                     "', and Heddle knows m2m100 and wmt21.");
  std::istringstream codes{std::string((*languages)[1])};
  for (std::string code; codes >> code;) {
    int32_t id = parts.table.size();
    std::string text = "__" + code + "__";
    HEDDLE_CHECK(parts.table.add(id, text, path));
    parts.marks.push_back(id); // within a text it is text, as in Hugging Face's tokenizer
    if (code == (source.empty() ? "en" : source))
      parts.inputs = InputMarks{.before = {id}, .after = {*end}, .between = std::nullopt};
  }
  if (!parts.inputs)
    return makeError(ErrorKind::Malformed, "'", (folder / kConfig).string(), "' has the src_lang '", source,
                     "', which is none of the model's languages.");
  parts.texts = PieceTexts(parts.table, ruleOfModel(file), {});
  parts.files = std::move(files);
  return parts;
}

} // namespace heddle
