// The vocabulary of M2M-100's folders: SentencePiece's pieces, with the numbers of a vocab.json, and a token for each language.
#pragma once

#include "runtime/tokenizers/PublishedVocabulary.h"

namespace heddle {

// Reads vocab.json, sentencepiece.bpe.model and, if present, tokenizer_config.json, whose `language_codes` names the list of
// languages and whose `src_lang` is the language of a source that names none ("en" without it). Pieces that vocab.json lacks
// are unknown.
Result<PublishedVocabulary::Parts> readNumberedPieces(const std::filesystem::path &folder);

} // namespace heddle
