#include "runtime/core/File.h"
#include "runtime/core/Gguf.h"
#include "runtime/text/Escapes.h"
#include "runtime/text/Utf8.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "runtime/tokenizers/WordPieces.h"
#include "runtime/train/CheckpointFolder.h"
#include "tools/heddle-run/commands/LineAnswers.h"
#include "tools/heddle-run/commands/Opening.h"

#include <charconv>
#include <utility>

namespace heddle::run {
namespace {

constexpr uint64_t kLinesAhead = 1024;

// Opens the vocabulary in a folder; its kind follows from the files there.
Result<std::unique_ptr<TextCodec>> openVocabulary(const std::filesystem::path &folder) {
  std::error_code error;
  auto has = [&](const char *name) { return std::filesystem::exists(folder / name, error); };
  auto own = [](auto codec) -> std::unique_ptr<TextCodec> {
    return std::make_unique<decltype(codec)>(std::move(codec));
  };
  if (has("vocab.txt") || (!has("manifest.json") && WordPieces::isIn(folder))) {
    HEDDLE_ASSIGN(WordPieces pieces, WordPieces::load(folder));
    return own(std::move(pieces));
  }
  if (has("manifest.json") || !listCheckpoints(folder).empty())
    return loadCheckpointVocabulary(folder);
  if (has("source.spm")) {
    HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::loadFolder(folder));
    return own(std::move(tokenizer));
  }
  if (isGgufFile(folder) || has("vocab.json") || has("merges.txt") || has(PublishedVocabulary::kTokenizerJson) ||
      has(PublishedVocabulary::kTokenizerModel)) {
    HEDDLE_ASSIGN(PublishedVocabulary published, PublishedVocabulary::load(folder));
    return own(std::move(published));
  }
  if (!std::filesystem::is_regular_file(folder, error))
    HEDDLE_CHECK(requireFolder(folder));
  return makeError(ErrorKind::NotFound, "'", folder.string(),
                   "' has no vocabulary that heddle-run reads: neither vocab.txt, as BERT has it, nor "
                   "tokenizer.json, tokenizer.model or vocab.json and merges.txt, as language models have them, nor "
                   "source.spm, target.spm and vocab.json, as Marian has "
                   "them; it is no GGUF file, and "
                   "no checkpoint of Heddle's.");
}

std::string describeTokens(const TextCodec &codec, std::string_view line) {
  std::string ids, pieces;
  for (int32_t id : codec.encode(line)) {
    ids += str(ids.empty() ? "" : " ", id);
    pieces += (pieces.empty() ? "" : " ") + escaped(codec.piece(id));
  }
  return ids + '\t' + pieces;
}

// Decodes the ids before the line's first tab.
Result<std::string> decode(const TextCodec &codec, std::string_view line, uint64_t number) {
  std::vector<int32_t> ids;
  for (std::string_view rest = line.substr(0, line.find('\t')); !rest.empty();) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    int32_t id = -1;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (word.empty())
      continue;
    if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= codec.pieces())
      return makeError(ErrorKind::InvalidArgument, "line ", number, " of the standard input has '", word,
                       "', which is not a token of this vocabulary: its tokens are the numbers from 0 to ",
                       codec.pieces() - 1, ", separated by spaces.");
    ids.push_back(id);
  }
  return escaped(replaceInvalidUtf8(codec.decode(ids)));
}

// A worker for answerLines() that answers at once.
struct LineTokenizer {
  std::vector<std::string> answers;

  uint64_t held() const { return answers.size(); }
  bool busy() const { return false; }
  Status step() { return Success(); }
  std::vector<std::string> take() { return std::exchange(answers, {}); }
};

} // namespace

Status runTokenize(const TokenizeCommand &command) {
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> codec, openVocabulary(command.folder));
  LineTokenizer worker;
  uint64_t number = 0;
  auto add = [&](const std::string &line) -> Status {
    ++number;
    if (command.decode) {
      HEDDLE_ASSIGN(std::string text, decode(*codec, line, number));
      worker.answers.push_back(std::move(text));
    } else {
      worker.answers.push_back(describeTokens(*codec, unescaped(line)));
    }
    return Success();
  };
  return answerLines(worker, kLinesAhead, add, printLine, InputLines::LongLines::Whole);
}

} // namespace heddle::run
