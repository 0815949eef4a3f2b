// The vocabulary in a GGUF file: byte pair encoding of bytes ("gpt2") or as in SentencePiece ("llama").
#pragma once

#include "runtime/core/Gguf.h"
#include "runtime/tokenizers/PublishedVocabulary.h"

namespace heddle {

// Fails with NotFound if the file has no vocabulary. The `files` of the result contain `kGgufVocabulary`, a GGUF file
// with only the vocabulary's keys.
Result<PublishedVocabulary::Parts> readGgufVocabulary(const GgufReader &file);

} // namespace heddle
