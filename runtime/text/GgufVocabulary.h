// The vocabulary in a GGUF file: byte pair encoding of bytes ("gpt2") or of SentencePiece's kind ("llama").
#pragma once

#include "runtime/core/Gguf.h"
#include "runtime/text/PublishedVocabulary.h"

namespace heddle {

// NotFound where the file has none. The parts' file, `kGgufVocabulary`, is a GGUF file of the keys of the vocabulary
// alone.
Result<PublishedVocabulary::Parts> readGgufVocabulary(const GgufReader &file);

} // namespace heddle
