// The vocabulary of a published folder that has SentencePiece's tokenizer.model and no tokenizer.json.
#pragma once

#include "runtime/text/PublishedVocabulary.h"

namespace heddle {

// Reads tokenizer.model, and where they are there added_tokens.json and tokenizer_config.json: what tokens are added,
// and which marks begin and end a text. Fails if the model is neither of byte pairs nor a unigram model.
Result<PublishedVocabulary::Parts> readTokenizerModel(const std::filesystem::path &folder);

} // namespace heddle
