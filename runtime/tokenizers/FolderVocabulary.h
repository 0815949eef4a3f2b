// Loads a vocabulary of any kind.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/TextCodec.h"

#include <filesystem>
#include <memory>

namespace heddle {

// Loads the vocabulary in a folder, of a GGUF file, or of a file of SentencePiece. In a folder, the names of the files
// decide its kind: BERT's (WordPieces), one that was learnt here or Marian's (Tokenizer), or a language model's
// (PublishedVocabulary). Fails with NotFound if the folder has none of them.
Result<std::unique_ptr<TextCodec>> loadFolderVocabulary(const std::filesystem::path &place);

} // namespace heddle
