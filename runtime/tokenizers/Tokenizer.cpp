#include "runtime/tokenizers/Tokenizer.h"

#include "runtime/tokenizers/SentencePieceVocabulary.h"

#include <algorithm>
#include <unordered_set>

namespace heddle {
namespace {

using Parts = PublishedVocabulary::Parts;

// Reads one of Marian's models, whose pieces have the numbers of `numbers`.
Result<PublishedVocabulary> readSide(std::string_view bytes, const std::string &name, const PieceTable &numbers) {
  HEDDLE_ASSIGN(SentencePieceFile file, SentencePieceFile::parse(bytes, name));
  HEDDLE_ASSIGN(Parts parts, partsOfModel(file, name, numbers));
  parts.end = parts.table.find("</s>");
  for (const char *mark : {"<unk>", "</s>", "<pad>"}) {
    parts.marks.push_back(*parts.table.find(mark));
    parts.texts.set(parts.marks.back(), "");
  }
  return PublishedVocabulary(std::move(parts));
}

} // namespace

Tokenizer::Tokenizer(PublishedVocabulary source, std::optional<PublishedVocabulary> target,
                     std::vector<TokenizerFile> stored)
    : source(std::move(source)), target(std::move(target)), stored(std::move(stored)) {}

Result<Tokenizer> Tokenizer::fromBytes(std::string_view model, const std::string &name) {
  HEDDLE_ASSIGN(SentencePieceFile file, SentencePieceFile::parse(model, name));
  HEDDLE_ASSIGN(Parts parts, partsOfModel(file, name));
  auto numberOf = [&](const std::string &mark) { return parts.table.find(mark).value_or(-1); };
  int32_t unknown = parts.unknown.value_or(-1), begin = numberOf(file.begin), end = numberOf(file.end);
  if (unknown != kUnknownId || begin != kBeginId || end != kEndId)
    return makeError(ErrorKind::Unsupported, "the SentencePiece model '", name, "' numbers its special pieces unk ",
                     unknown, ", bos ", begin, ", eos ", end,
                     "; Heddle needs unk 0, bos 1, eos 2 (SentencePiece's own default).");
  for (int32_t id = 0; id < parts.table.size(); ++id)
    if (file.pieces[size_t(id)].kind == SentencePieceFile::Control) {
      parts.marks.push_back(id);
      parts.texts.set(id, "");
    }
  parts.texts.set(unknown, file.unknown);
  parts.end = end;
  parts.mask = parts.table.find(kMaskPiece);
  return Tokenizer(PublishedVocabulary(std::move(parts)), std::nullopt,
                   {{std::string(kFileNames[0]), std::string(model)}});
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::string bytes, readVocabularyFile(path));
  return fromBytes(bytes, path.string());
}

Result<Tokenizer> Tokenizer::loadFolder(const std::filesystem::path &folder) {
  HEDDLE_ASSIGN(std::vector<TokenizerFile> files, readTokenizerFiles(folder, kFileNames));
  return fromFiles(files, folder.string());
}

Result<Tokenizer> Tokenizer::fromFiles(const std::vector<TokenizerFile> &files, const std::string &origin) {
  auto find = [&](std::string_view name) {
    auto found = std::ranges::find(files, name, &TokenizerFile::name);
    return found == files.end() ? nullptr : &*found;
  };
  auto called = [&](const TokenizerFile &file) { return (std::filesystem::path(origin) / file.name).string(); };
  const TokenizerFile *one = find("spm.model"), *ofSource = find("source.spm"), *ofTarget = find("target.spm"),
                      *numbers = find("vocab.json");
  if (ofSource && ofTarget && numbers) {
    HEDDLE_ASSIGN(PieceTable table, PieceTable::fromJson(numbers->bytes, called(*numbers)));
    for (const char *mark : {"<unk>", "</s>", "<pad>"})
      if (!table.find(mark))
        return makeError(ErrorKind::Malformed, "'", called(*numbers), "' is not a vocabulary of Marian: it lacks \"",
                         mark, "\"; take the vocabulary that was published with the model.");
    HEDDLE_ASSIGN(PublishedVocabulary source, readSide(ofSource->bytes, called(*ofSource), table));
    HEDDLE_ASSIGN(PublishedVocabulary target, readSide(ofTarget->bytes, called(*ofTarget), table));
    return Tokenizer(std::move(source), std::move(target), {*ofSource, *ofTarget, *numbers});
  }
  if (one)
    return fromBytes(one->bytes, called(*one));
  return makeError(ErrorKind::NotFound, "'", origin,
                   "' has no vocabulary that heddle-run reads: neither spm.model, as ",
                   "its own trainings have it, nor source.spm, target.spm and vocab.json, as Marian's models have "
                   "them. `heddle-run call` takes token ids.");
}

// Models for many target languages expect a piece before the sentence that names the language: >>deu<<.
std::string_view Tokenizer::takeLanguage(std::string_view &line) const {
  size_t end = line.find("<<");
  if (!target || !line.starts_with(">>") || end == std::string_view::npos)
    return {};
  std::string_view language = line.substr(0, end + 2);
  line.remove_prefix(end + 2);
  return language;
}

std::vector<int32_t> Tokenizer::encode(std::string_view line) const {
  std::string_view language = takeLanguage(line);
  std::vector<int32_t> ids = source.encode(line);
  if (!language.empty())
    ids.insert(ids.begin(), source.idOf(language));
  return ids;
}

std::vector<std::string> Tokenizer::unknownParts(std::string_view line) const {
  std::string_view language = takeLanguage(line);
  std::vector<std::string> parts = source.unknownParts(line);
  if (!language.empty() && source.idOf(language) == source.idOf("<unk>"))
    parts.insert(parts.begin(), std::string(language));
  return parts;
}

} // namespace heddle
