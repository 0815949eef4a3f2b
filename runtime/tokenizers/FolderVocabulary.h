// Loads a vocabulary of any kind.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/tokenizers/TextCodec.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>

namespace heddle {

// Loads the vocabulary in a folder, of a GGUF file, or of a file of SentencePiece. In a folder, the names of the files
// decide its kind: BERT's (WordPieces), one that was learnt here or Marian's (Tokenizer), or a language model's
// (PublishedVocabulary). Fails with NotFound if the folder has none of them.
Result<std::unique_ptr<TextCodec>> loadFolderVocabulary(const std::filesystem::path &place);

// As above for the folder of a checkpoint: only the files that `isPartOf` accepts decide the kind.
Result<std::unique_ptr<TextCodec>> loadFolderVocabulary(const std::filesystem::path &place,
                                                        const std::function<bool(std::string_view)> &isPartOf);

} // namespace heddle
