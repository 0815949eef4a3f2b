// A tokenizer.json, and a text that its vocabulary takes apart and puts together.
#include "test/fuzz/targets/Vocabulary.h"
#include "tools/heddle-run/text/PublishedVocabulary.h"

namespace heddle::fuzz {

void fuzz(std::span<const std::byte> bytes) {
  if (auto vocabulary = run::PublishedVocabulary::load(folderWith("tokenizer.json", bytes)))
    encodeAndDecode(*vocabulary);
}

} // namespace heddle::fuzz
