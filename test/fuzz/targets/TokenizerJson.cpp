// A tokenizer.json; its vocabulary encodes and decodes a text.
#include "runtime/tokenizers/PublishedVocabulary.h"
#include "test/fuzz/targets/Vocabulary.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  if (auto vocabulary = PublishedVocabulary::load(folderWith("tokenizer.json", bytes)))
    encodeAndDecode(*vocabulary);
}

} // namespace heddle::fuzz
