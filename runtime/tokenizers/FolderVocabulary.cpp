#include "runtime/tokenizers/FolderVocabulary.h"

#include "runtime/core/File.h"
#include "runtime/core/Gguf.h"
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "runtime/tokenizers/WordPieces.h"

namespace heddle {

Result<std::unique_ptr<TextCodec>> loadFolderVocabulary(const std::filesystem::path &place) {
  return loadFolderVocabulary(place, [](std::string_view) { return true; });
}

Result<std::unique_ptr<TextCodec>> loadFolderVocabulary(const std::filesystem::path &place,
                                                        const std::function<bool(std::string_view)> &isPartOf) {
  using Published = PublishedVocabulary;
  std::error_code error;
  auto has = [&](auto... names) { return ((isPartOf(names) && std::filesystem::exists(place / names, error)) || ...); };
  auto own = []<typename Codec>(Result<Codec> codec) -> Result<std::unique_ptr<TextCodec>> {
    if (!codec.ok())
      return std::move(codec).error();
    return std::make_unique<Codec>(std::move(codec).value());
  };
  if (isPartOf(Published::kTokenizerJson) && WordPieces::isIn(place))
    return own(WordPieces::load(place));
  if (has("vocab.txt"))
    return own(WordPieces::loadLines(place));
  if (has("spm.model", "source.spm"))
    return own(Tokenizer::loadFolder(place));
  if (isGgufFile(place) || has(Published::kGgufVocabulary, Published::kTokenizerJson, Published::kTokenizerModel,
                               "vocab.json", "merges.txt"))
    return own(Published::load(place));
  if (std::filesystem::is_regular_file(place, error))
    return own(Tokenizer::load(place));
  HEDDLE_CHECK(requireFolder(place));
  return makeError(
      ErrorKind::NotFound, "'", place.string(),
      "' has no vocabulary that heddle-run reads: neither vocab.txt, as BERT has it, nor "
      "tokenizer.json, tokenizer.model or vocab.json and merges.txt, as language models have them, nor "
      "vocab.json and sentencepiece.bpe.model, as M2M-100 has them, nor "
      "source.spm, target.spm and vocab.json, as Marian has them, nor spm.model, as its own trainings have "
      "it; and it is no checkpoint of Heddle's.");
}

} // namespace heddle
