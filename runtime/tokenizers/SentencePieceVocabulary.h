// The vocabulary of a published folder that has SentencePiece's tokenizer.model and no tokenizer.json.
#pragma once

#include "runtime/tokenizers/PublishedVocabulary.h"

namespace heddle {

// Reads tokenizer.model and, if present, added_tokens.json and tokenizer_config.json, which give the added tokens and
// the begin and end marks. Fails if the model is neither byte pair encoding nor a unigram model.
Result<PublishedVocabulary::Parts> readTokenizerModel(const std::filesystem::path &folder);

} // namespace heddle
